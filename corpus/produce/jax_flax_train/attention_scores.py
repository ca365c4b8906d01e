# /// case
# cause = "host_oom"
# paper_class = "ram_oom"
# exit_code = 1
# environment = "jax"
# why = "RESOURCE_EXHAUSTED on the CPU: host memory, though XLA words it as for a GPU"
# ///
"""The attention scores of a very long context do not fit in the memory of the host."""

import jax
import jax.numpy as jnp


@jax.jit
def attention(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    weights = jax.nn.softmax(scores)
    return jnp.einsum("bhqk,bhkd->bhqd", weights, v), weights


@jax.jit
def step(w, x):
    q = k = v = jnp.repeat((x @ w)[:, None], 8, axis=1)
    out, weights = attention(q, k, v)
    return out.mean(), weights


w = jax.random.normal(jax.random.key(0), (16, 16))
for length in (64, 256, 1024, 700_000):
    x = jnp.ones((4, length, 16), jnp.float32)
    print(f"context {length}: {x.nbytes / 2**20:.1f} MiB of input", flush=True)
    value, weights = step(w, x)
    print(f"  value {float(value):.5f}, scores {weights.nbytes / 2**20:.1f} MiB", flush=True)
