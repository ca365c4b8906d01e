# /// case
# cause = "div_zero"
# exit_code = 1
# environment = "jax"
# why = "checkify names the division by zero that its check found"
# ///
"""A division by zero inside of a jitted function is found by checkify, which is thrown after the step."""

import jax
import jax.numpy as jnp
from jax.experimental import checkify


def weighted_mean(values, weights):
    return (values * weights).sum() / weights.sum()


checked = jax.jit(checkify.checkify(weighted_mean, errors=checkify.float_checks))
rng = jax.random.key(4)
for epoch in range(5):
    rng, key = jax.random.split(rng)
    values = jax.random.normal(key, (32,))
    weights = jnp.where(values > -9.0 + 3.5 * epoch, 1.0, 0.0)
    error, mean = checked(values, weights)
    error.throw()
    print(f"epoch {epoch}: weighted mean {mean:.4f}", flush=True)
