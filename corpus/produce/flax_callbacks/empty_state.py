# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "Ran out of input is the empty checkpoint file of the interrupted run, not something about worker processes"
# ///
"""The newest state of the run is an empty file, since the run before was stopped while it wrote it."""

import argparse
import pickle
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
from absl import logging
from flax import linen as nn
from flax.training import train_state


class Encoder(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.tanh(nn.Dense(24)(x)))


@jax.jit
def update(state, x):
    def loss_of(params):
        return jnp.square(state.apply_fn(params, x)[:, 0] - x.sum(1)).mean()

    loss, grads = jax.value_and_grad(loss_of)(state.params)
    return state.apply_gradients(grads=grads), loss


class Saver:
    def __init__(self, folder, every):
        self.folder, self.every = Path(folder), every
        self.folder.mkdir(parents=True, exist_ok=True)

    def newest(self):
        return max(self.folder.glob("state_*.pkl"), default=None)

    def on_step_end(self, step, state):
        if step % self.every == 0:
            with open(self.folder / f"state_{step:06d}.pkl", "wb") as file:
                pickle.dump(jax.device_get((step, state.params, state.opt_state)), file)
            logging.info("saved state at step %d", step)


def fit(state, saver, until):
    first, newest = 0, saver.newest()
    if newest:
        logging.info("resuming from %s", newest)
        with open(newest, "rb") as file:
            first, params, opt_state = pickle.load(file)
        state = state.replace(params=params, opt_state=opt_state)
    for step in range(first + 1, until + 1):
        state, loss = update(state, jax.random.normal(jax.random.PRNGKey(step), (32, 5)))
        if step % 20 == 0:
            logging.info("step %d loss %.5f", step, loss)
        saver.on_step_end(step, state)
    return state


logging.set_verbosity(logging.INFO)
parser = argparse.ArgumentParser()
parser.add_argument("--folder", default="states")
asked = parser.parse_args()
model = Encoder()
fresh = train_state.TrainState.create(
    apply_fn=model.apply,
    params=model.init(jax.random.PRNGKey(0), jnp.ones((1, 5))),
    tx=optax.adam(0.01),
)
fit(fresh, Saver(asked.folder, 40), 80)
Path(asked.folder, "state_000120.pkl").touch()
logging.info("second stage")
fit(fresh, Saver(asked.folder, 40), 160)
