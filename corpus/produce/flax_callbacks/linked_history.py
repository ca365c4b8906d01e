# /// case
# cause = "segfault"
# exit_code = -11
# environment = "jax"
# ///
"""A callback keeps its history as a chain of nested tuples; copying the tree of it overruns the stack."""

import sys

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from flax.training.train_state import TrainState


sys.setrecursionlimit(10_000_000)


class History:
    """Losses of all steps, newest first."""

    def __init__(self):
        self.chain = ()

    def on_step_end(self, loss):
        self.chain = (loss, self.chain)

    def snapshot(self):
        return jax.tree_util.tree_map(float, self.chain)


model = nn.Dense(3)
state = TrainState.create(
    apply_fn=model.apply,
    params=model.init(jax.random.PRNGKey(0), jnp.ones((1, 3))),
    tx=optax.sgd(0.05),
)


@jax.jit
def epoch_of_steps(state, key):
    def step(state, key):
        x = jax.random.normal(key, (4, 3))
        loss, grads = jax.value_and_grad(lambda p: jnp.square(state.apply_fn(p, x) - x).mean())(
            state.params
        )
        return state.apply_gradients(grads=grads), loss

    return jax.lax.scan(step, state, jax.random.split(key, 40_000))


history = History()
for epoch in range(6):
    state, losses = epoch_of_steps(state, jax.random.PRNGKey(epoch))
    for loss in losses.tolist():
        history.on_step_end(loss)
    print(f"epoch {epoch} loss {losses[-1]:.3e} ({len(losses)} steps)", flush=True)
    if epoch % 3 == 2:
        print("writing history snapshot", flush=True)
        leaves = len(jax.tree_util.tree_leaves(history.snapshot()))
        print(f"snapshot has {leaves} values", flush=True)
