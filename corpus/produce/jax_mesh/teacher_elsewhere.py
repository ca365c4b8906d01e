# /// case
# cause = "device_mismatch"
# exit_code = 1
# environment = "jax"
# env = { XLA_FLAGS = "--xla_force_host_platform_device_count=4" }
# ///
"""Parameters live on the mesh of the first two devices, the batch on that of the last two."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

train_mesh = Mesh(np.array(jax.devices()[:2]), ("data",))
feed_mesh = Mesh(np.array(jax.devices()[2:]), ("data",))
print("train mesh", train_mesh.devices, "feed mesh", feed_mesh.devices)

rng = np.random.default_rng(0)
params = jax.device_put(rng.normal(size=(8, 4)), NamedSharding(train_mesh, PartitionSpec()))


@jax.jit
def update(params, x, y):
    def loss(p):
        return jnp.mean((x @ p - y) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return params - 0.05 * grads, value


def feed(mesh):
    x = rng.normal(size=(32, 8))
    rows = NamedSharding(mesh, PartitionSpec("data"))
    return jax.device_put(x, rows), jax.device_put(x[:, :4], rows)


for step in range(10):
    params, value = update(params, *feed(train_mesh if step < 6 else feed_mesh))
    print(f"step {step} mse {value:.5f}", flush=True)
