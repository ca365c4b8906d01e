# /// case
# cause = "none"
# paper_class = ""
# exit_code = 0
# environment = "jax"
# why = "apply_if_finite skips single bad updates, the loss falls to the end"
# ///
"""A healthy run in which two updates with nan gradients are skipped."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import optax

logging.basicConfig(format="%(asctime)s %(levelname)-8s %(name)s: %(message)s", level=logging.INFO)
log = logging.getLogger("train")
tx = optax.apply_if_finite(optax.adam(0.05), max_consecutive_errors=3)


@jax.jit
def train_step(params, state, x, y):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p - y) ** 2))(params)
    updates, state = tx.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss, optax.global_norm(grads)


rng = np.random.default_rng(0)
truth = rng.normal(size=(5, 1))
params = jnp.asarray(rng.normal(size=(5, 1)), dtype=jnp.float64)
state = tx.init(params)
bad = 0
for step in range(1, 121):
    x = rng.normal(size=(32, 5))
    if step in (31, 77):
        x[3, 2] = np.nan
    params, state, loss, norm = train_step(params, state, x, x @ truth)
    if not np.isfinite(norm):
        bad += 1
        log.warning("step %d: loss=nan grad_norm=nan, update skipped (%d so far)", step, bad)
    elif step % 20 == 0:
        log.info("step %d: loss=%.5f grad_norm=%.4f", step, loss, norm)
log.info("done: final loss %.6f, skipped %d, errors 0", loss, int(state.total_notfinite))
