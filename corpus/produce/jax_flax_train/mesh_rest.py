# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {XLA_FLAGS = "--xla_force_host_platform_device_count=4"}
# command = "python {program} --batch-size 30 --data-parallel 4"
# why = "the batch size asked for does not divide by the number of devices"
# ///
"""The batch size does not divide by the data-parallel axis of the mesh."""

import argparse

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--data-parallel", type=int, default=1)
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()

devices = jax.devices()[: args.data_parallel]
mesh = Mesh(devices, ("data",))
print(f"args: {vars(args)}")
print(f"mesh: {mesh.shape} on {[str(d) for d in devices]}")
replicated = NamedSharding(mesh, PartitionSpec())
by_batch = NamedSharding(mesh, PartitionSpec("data"))
w = jax.device_put(jnp.zeros((20, 4)), replicated)


@jax.jit
def update(w, x, y):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    return w - args.lr * grad, loss


for step in range(10):
    x = jax.random.normal(jax.random.key(step), (args.batch_size, 20))
    batch = jax.device_put(x, by_batch)
    w, loss = update(w, batch, batch[:, :4])
    print(step, loss)
