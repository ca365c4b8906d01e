# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# why = "one start of several diverges and is thrown away, a step is repeated in higher precision; the best one is kept and saved"
# ///
"""Several starts are trained at once; some become nan and are thrown away, the best one is kept."""

import faulthandler
import logging
import sys

import jax
import jax.numpy as jnp
import numpy as np

faulthandler.enable()
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
log = logging.getLogger()
RATES = [1e-3, 1e-2, 0.1, 3.0, 50.0]


def series(n=400):
    t = np.arange(n)
    return (np.sin(t / 10) + 0.05 * np.random.default_rng(0).normal(size=n)).astype("float32")


def loss_fn(w, x, y):
    return jnp.mean((jnp.exp(x @ w) - y) ** 2)


@jax.jit
def step(w, rate, x, y):
    loss, grad = jax.value_and_grad(loss_fn)(w, x, y)
    return w - rate * grad, loss


values = series()
x = jnp.stack([values[i : i + 16] for i in range(380)])
y = jnp.exp(jnp.asarray(values[16:396]) * 0.5)
starts = 0.01 * jax.random.normal(jax.random.key(2), (len(RATES), 16))
many = jax.jit(jax.vmap(step, in_axes=(0, 0, None, None)))
rates = jnp.array(RATES)
log.info("trial   " + "  ".join(f"lr={rate:g}" for rate in RATES))
for i in range(1, 121):
    starts, losses = many(starts, rates, x, y)
    if i % 20 == 0:
        log.info("iter %3d loss %s", i, np.array2string(np.asarray(losses), precision=4))
    if i == 40:
        for k in np.flatnonzero(~np.isfinite(np.asarray(losses))):
            log.error(
                "trial %d DIVERGED: loss=%s, pruned (FloatingPointError ignored)", k, losses[k]
            )
alive = np.where(np.isfinite(np.asarray(losses)), np.asarray(losses), np.inf)
best = int(alive.argmin())
try:
    jnp.linalg.cholesky(jnp.eye(16)).block_until_ready()
    np.linalg.cholesky(np.zeros((3, 3)))
except np.linalg.LinAlgError as error:
    log.error("LinAlgError: %s; intervals come from the residuals instead", error)
w = starts[best]
for i in range(1, 81):
    w, loss = step(w, rates[best], x, y)
    if i % 20 == 0:
        log.info("final lr=%g iter %d loss %.4f", RATES[best], i, loss)
spread = float(jnp.std(jnp.exp(x @ w) - y))
np.savez("forecast.npz", w=np.asarray(w), spread=spread)
log.info("kept trial %d of %d, residual spread %.4f, forecast.npz saved", best, len(RATES), spread)
