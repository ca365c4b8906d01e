# /// case
# cause = "traceback"
# exit_code = 1
# environment = "jax"
# why = "TracerBoolConversionError, a TypeError of the program's own control flow"
# ///
"""A jitted update branches in Python on the value of the gradient norm."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Mlp(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(6, 24, rngs=rngs)
        self.l2 = nnx.Linear(24, 2, rngs=rngs)

    def __call__(self, x):
        return self.l2(nnx.gelu(self.l1(x)))


@nnx.jit
def train_step(model, optimizer, x, y):
    def loss_fn(model):
        return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    norm = optax.global_norm(grads)
    if norm > 1.0:
        grads = jax.tree.map(lambda g: g / norm, grads)
    optimizer.update(model, grads)
    return loss


model = Mlp(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(1), (40, 6))
y = jnp.argmax(x[:, :2], axis=-1)
for epoch in range(10):
    loss = train_step(model, optimizer, x, y)
    print("epoch", epoch, "loss", loss)
