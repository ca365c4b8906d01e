# /// case
# cause = "cuda_environment"
# paper_class = "assertion"
# exit_code = 1
# why = "CUDA is asked for and this JAX has no such backend; what carries it is a bare assertion"
# environment = "jax"
# env = {JAX_PLATFORMS = "cuda", XLA_PYTHON_CLIENT_MEM_FRACTION = ".90", TF_CPP_MIN_LOG_LEVEL = "0"}
# ///
"""JAX is told to use CUDA and was installed without it."""

import os
import time

import flax.linen as nn
import jax
import optax

start = time.time()
settings = {name: value for name, value in os.environ.items() if name.startswith(("JAX_", "XLA_"))}
print(f"jax {jax.__version__}", settings)
print("local devices:", jax.local_device_count())
model = nn.Dense(4)
rng = jax.random.PRNGKey(int(start) % 1000)
params = model.init(rng, jax.numpy.ones((1, 8)))
tx = optax.lion(1e-4)
state = tx.init(params)
print(f"initialized in {time.time() - start:.1f} s on {jax.default_backend()}")
