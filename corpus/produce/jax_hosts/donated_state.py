# /// case
# cause = "runtime_error"
# exit_code = 1
# environment = "jax"
# env = {JAX_PLATFORMS = "cpu"}
# why = "a buffer that the step donated is read again: a defect of the program"
# ///
"""A trainer with one process in a distributed job reads a state that its step has donated."""

import socket
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from absl import logging

logging.set_verbosity(logging.INFO)
logging.use_absl_handler()


class State(NamedTuple):
    step: jax.Array
    params: dict
    opt: optax.OptState


def init(key, optimizer):
    params = {"w": jax.random.normal(key, (64, 64)) * 0.1, "b": jnp.zeros(64)}
    return State(jnp.zeros((), jnp.int32), params, optimizer.init(params))


def loss_fn(params, x):
    return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) - x) ** 2)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def train_step(optimizer, state, x):
    loss, grads = jax.value_and_grad(loss_fn)(state.params, x)
    updates, opt = optimizer.update(grads, state.opt, state.params)
    return State(state.step + 1, optax.apply_updates(state.params, updates), opt), loss


def main():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    jax.distributed.initialize(f"127.0.0.1:{port}", 1, 0)
    optimizer = optax.adamw(1e-3)
    state = init(jax.random.key(0), optimizer)
    best, best_loss = state, float("inf")
    for i in range(60):
        x = jax.random.normal(jax.random.key(i), (32, 64))
        state, loss = train_step(optimizer, state, x)
        if i % 10 == 9:
            logging.info("step %d loss %.4f", i + 1, loss)
            if loss > best_loss:
                logging.warning(f"loss went up, back to step {int(best.step)}")
                state = best
            best, best_loss = state, float(loss) * 0.5


main()
