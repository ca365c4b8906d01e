# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "the archive to resume from was written by a model without the layer that is asked for"
# ///
"""The state is kept in an npz archive; the one to resume from lacks the arrays of a newer layer."""

import argparse
import logging
import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(asctime)s,%(lineno)d: %(message)s")


def init(key, hidden, gate):
    a, b, c = jax.random.split(key, 3)
    params = {
        "encoder/kernel": 0.1 * jax.random.normal(a, (24, hidden)),
        "decoder/kernel": 0.1 * jax.random.normal(b, (hidden, 1)),
    }
    if gate:
        params["gate/kernel"] = 0.1 * jax.random.normal(c, (24, hidden))
    return params


def forward(params, x):
    h = jnp.tanh(x @ params["encoder/kernel"])
    if "gate/kernel" in params:
        h = h * jax.nn.sigmoid(x @ params["gate/kernel"])
    return (h @ params["decoder/kernel"])[:, 0]


def train(path, steps, gate):
    params, start = init(jax.random.key(0), 16, gate), 0
    if os.path.exists(path):
        logging.info("resuming from %s", path)
        archive = np.load(path)
        start = int(archive["step"])
        params = {name: jnp.asarray(archive[name]) for name in params}
    optimizer = optax.adam(1e-2)
    state = optimizer.init(params)

    @jax.jit
    def update(params, state, key):
        x = jax.random.normal(key, (32, 24)).cumsum(1)
        target = x[:, -1] + 0.2
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((forward(p, x) - target) ** 2))(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state, loss

    for step in range(start + 1, start + steps + 1):
        params, state, loss = update(params, state, jax.random.key(step))
        if step % 10 == 0:
            logging.info("step %d mse %.4f", step, loss)
    np.savez(path, step=step, **params)
    logging.info("%s written at step %d", path, step)


parser = argparse.ArgumentParser()
parser.add_argument("--state", default="forecaster.npz")
options = parser.parse_args()
train(options.state, 30, gate=False)  # the run of last week
logging.info("model: gated encoder, hidden 16")
train(options.state, 30, gate=True)
