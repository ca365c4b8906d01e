# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# environment = "jax"
# needs = ["root"]
# ///
"""The compilation cache of the team is missing rights for this user; later the profile may not be written."""

import os

import jax
import jax.numpy as jnp

for folder in ("scratch/jax_cache", "scratch/profiles"):
    os.makedirs(folder)
    os.chmod(folder, 0o555)
jax.config.update("jax_compilation_cache_dir", "scratch/jax_cache")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


@jax.jit
def roll(state, _):
    return jnp.tanh(state @ state.T) / 4


state = jnp.eye(16) + 0.1
for step in range(4):
    state = roll(state, step)
    print(f"step {step} norm {jnp.linalg.norm(state):.4f}", flush=True)
print("dumping the memory profile")
jax.profiler.save_device_memory_profile("scratch/profiles/step4.prof")
with open("scratch/profiles/step4.txt", "w") as out:
    out.write(str(state))
