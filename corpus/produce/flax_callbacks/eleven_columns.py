# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "one-hot targets and logits do not fit in the computation of the evaluation"
# ///
"""The evaluation callback makes one-hot targets with a column for the background, which the head lacks."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from rich.console import Console
from rich.progress import track

console = Console(width=100)
CLASSES = 10


class Head(nn.Module):
    classes: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.classes)(nn.relu(nn.Dense(48)(x)))


class Evaluate:
    """After each epoch: cross entropy with a background column."""

    def __init__(self, model, x, y):
        self.model, self.x = model, x
        self.targets = jax.nn.one_hot(y, CLASSES + 1)

    def on_epoch_end(self, epoch, params):
        logits = self.model.apply(params, self.x)
        loss = optax.softmax_cross_entropy(logits, self.targets).mean()
        console.log(f"epoch {epoch}: eval loss {loss:.4f}")


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(640, 16)).astype(np.float32)
    y = x[:, :CLASSES].argmax(1)
    model, optimizer = Head(CLASSES), optax.adam(3e-3)
    params = model.init(jax.random.PRNGKey(1), x[:1])
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, x, y):
        def loss_of(p):
            return optax.softmax_cross_entropy_with_integer_labels(model.apply(p, x), y).mean()

        loss, grads = jax.value_and_grad(loss_of)(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state, loss

    callbacks = [Evaluate(model, x[-128:], y[-128:])]
    for epoch in range(3):
        for i in track(range(0, 512, 32), description=f"epoch {epoch}", console=console):
            params, state, loss = step(params, state, x[i : i + 32], jnp.asarray(y[i : i + 32]))
        console.log(f"epoch {epoch}: train loss {loss:.4f}")
        for callback in callbacks:
            callback.on_epoch_end(epoch, params)


main()
