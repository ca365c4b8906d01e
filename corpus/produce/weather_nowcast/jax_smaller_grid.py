# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# ///
"""The compiler's allocation for the fine grid is refused; a coarser grid is used."""

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


@jax.jit
def smooth(field):
    return (field + jnp.roll(field, 1, 0) + jnp.roll(field, 1, 1)) / 3


for edge in (3_000_000, 256):
    try:
        field = jnp.ones((edge, edge)).block_until_ready()
        break
    except Exception:
        traceback.print_exc()
        print(f"grid of {edge} x {edge} refused", flush=True)
for step in range(8):
    field = smooth(field * 0.99)
    print(
        f"lead time {step * 5:3} min, mean rain {float(field.mean()):.4f} mm on {edge} x {edge}",
        flush=True,
    )
np.save("forecast.npy", field)
print("forecast.npy written")
