# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "inputs of a scan differ in their leading axis by the lag that one of them lost"
# ///
"""Holiday features lose a row to differencing and no longer fit the series that the scan walks over."""

import time

import jax
import jax.numpy as jnp
import optax
from absl import app, flags
from absl import logging as absl_logging

FLAGS = flags.FLAGS
flags.DEFINE_integer("steps", 30, "updates per stage")
flags.DEFINE_bool("holidays", True, "second stage with holiday effects")


def smooth(params, y, x):
    """Exponential smoothing with regressors, one step ahead."""
    alpha = jax.nn.sigmoid(params["alpha"])

    def step(level, inputs):
        value, row = inputs
        forecast = level + row @ params["beta"]
        return level + alpha * (value - forecast), forecast

    return jax.lax.scan(step, y[0], (y, x))[1]


def fit(y, x, steps):
    params = {"alpha": jnp.array(0.0), "beta": jnp.zeros(x.shape[1])}
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.05))
    state = optimizer.init(params)

    @jax.jit
    def update(params, state):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((smooth(p, y, x) - y) ** 2))(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state, loss

    for i in range(1, steps + 1):
        params, state, loss = update(params, state)
        if i % 10 == 0:
            absl_logging.info("update %d: one-step mse %.4f", i, loss)
    return params


def main(_):
    absl_logging.set_verbosity(absl_logging.INFO)
    started = time.time()
    t = jnp.arange(192.0)
    y = 5 + jnp.sin(t / 12 * jnp.pi) + 0.1 * jax.random.normal(jax.random.key(1), t.shape)
    trend = jnp.stack([t / 192, jnp.cos(t / 12 * jnp.pi)], 1)
    fit(y, trend, FLAGS.steps)
    absl_logging.info("stage trend took %.1f s", time.time() - started)
    if FLAGS.holidays:
        holiday = (t % 24 < 3).astype(jnp.float32)
        change = jnp.diff(holiday)[:, None]
        absl_logging.warning("holiday calendar has no entries after 2025")
        fit(y, change, FLAGS.steps)


if __name__ == "__main__":
    app.run(main)
