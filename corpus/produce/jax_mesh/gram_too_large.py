# /// case
# cause = "host_oom"
# exit_code = 1
# command = "bash -c 'ulimit -v 9000000; python {program}'"
# environment = "jax"
# why = "XLA words the failed allocation in host memory as RESOURCE_EXHAUSTED"
# ///
"""A Gram matrix on the CPU grows with the data set until XLA's allocation fails."""

import time

import jax
import jax.numpy as jnp


@jax.jit
def gram(x):
    return x @ x.T


for rows in (500, 2000, 4000, 60_000):
    start = time.perf_counter()
    x = jax.random.normal(jax.random.key(rows), (rows, 4))
    g = gram(x).block_until_ready()
    print(f"n={rows:6d} trace={jnp.trace(g):.1f} {time.perf_counter() - start:.2f}s", flush=True)
