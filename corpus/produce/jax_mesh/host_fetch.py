# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# env = { XLA_FLAGS = "--xla_force_host_platform_device_count=2", TF_CPP_MIN_LOG_LEVEL = "0" }
# why = "the mismatch of devices is caught and repaired, the run does its work"
# ///
"""Arrays on two devices meet once, the program moves them together and goes on to its end."""

import warnings

import jax
import jax.numpy as jnp

a, b = jax.devices()
f = jax.jit(lambda w, x: jnp.tanh(w * x).sum())
w = jax.device_put(jnp.ones(1000), a)
for step in range(12):
    x = jax.device_put(jnp.full(1000, step / 10), b if step == 4 else a)
    try:
        value = f(w, x)
    except ValueError as error:
        warnings.warn(f"step {step}: {error}; moving the batch to {a}", stacklevel=1)
        value = f(w, jax.device_put(x, a))
    print(f"step {step} value {value:.3f} (nan steps so far: 0, killed workers: 0)", flush=True)
print("finished 12 of 12 steps, 1 batch moved between devices")
