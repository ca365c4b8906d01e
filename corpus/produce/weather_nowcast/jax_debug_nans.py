# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# ///
"""JAX finds a NaN in the gradient of some batches; those are not applied."""

import os
import sys
import traceback

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
import numpy as np


def radar(n=256, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.gamma(2.0, 1.0, size=(n, 24)).astype("float32")
    y = (x[:, -6:].mean(1, keepdims=True) * 0.8 + 0.1).astype("float32")
    return x, y


import jax
import jax.numpy as jnp

jax.config.update("jax_debug_nans", True)


@jax.jit
def gradient(w, x, y):
    return jax.value_and_grad(lambda w: jnp.mean((jnp.log(x) @ w - y) ** 2))(w)


w = jnp.zeros((24, 1))
for step in range(1, 31):
    x, y = radar(64, seed=step)
    if step == 11:
        x[5, 2] = -1.0
    try:
        loss, g = gradient(w, x, y)
    except FloatingPointError as error:
        traceback.print_exc()
        print(f"step {step}: {type(error).__name__}, not applied", flush=True)
        continue
    w = w - 0.02 * g
    if step % 3 == 0:
        print(f"step {step} loss {loss:.5f}", flush=True)
