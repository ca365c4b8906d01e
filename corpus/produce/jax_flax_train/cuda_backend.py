# /// case
# cause = "cuda_environment"
# paper_class = "runtime_error"
# exit_code = 1
# environment = "jax"
# env = {JAX_PLATFORMS = "cuda", XLA_PYTHON_CLIENT_MEM_FRACTION = ".90", TF_CPP_MIN_LOG_LEVEL = "0"}
# ///
"""JAX is told to use CUDA and was installed without it."""

import time

import flax.linen as nn
import jax
import optax

start = time.time()
print(f"jax {jax.__version__}, XLA memory fraction 0.90")
model = nn.Dense(4)
rng = jax.random.PRNGKey(int(start) % 1000)
params = model.init(rng, jax.numpy.ones((1, 8)))
tx = optax.lion(1e-4)
state = tx.init(params)
print(f"initialized in {time.time() - start:.1f} s on {jax.default_backend()}")
