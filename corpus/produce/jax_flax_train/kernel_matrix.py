# /// case
# cause = "host_oom"
# paper_class = "ram_oom"
# exit_code = 1
# environment = "jax"
# why = "RESOURCE_EXHAUSTED on the CPU: host memory, though XLA words it as for a GPU"
# ///
"""The kernel matrix of the whole data set does not fit in the memory of the host."""

import jax
import jax.numpy as jnp


@jax.jit
def kernel(x, width):
    squares = jnp.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1)
    return jnp.exp(-squares / (2 * width**2))


@jax.jit
def ridge_step(alpha, gram, y):
    residual = gram @ alpha - y
    return alpha - 1e-3 * residual, jnp.mean(residual**2)


for count in (100, 1000, 300_000):
    x = jax.random.normal(jax.random.key(count), (count, 3))
    print(f"{count} points, {x.nbytes / 2**20:.2f} MiB", flush=True)
    gram = kernel(x, 0.7)
    alpha = jnp.zeros(count)
    for step in range(5):
        alpha, loss = ridge_step(alpha, gram, x[:, 0])
    print(f"  gram {gram.nbytes / 2**20:.1f} MiB, loss {float(loss):.4f}", flush=True)
