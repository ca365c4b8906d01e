# /// case
# cause = "cuda_environment"
# paper_class = "runtime_error"
# exit_code = 1
# environment = "jax"
# command = "python {program} --platform gpu --batch 64"
# why = "the devices of a platform that this installation does not have are asked for"
# ///
"""The program asks for the GPUs of a JAX that was installed for CPUs only."""

import argparse

import jax
import jax.numpy as jnp
from flax import nnx

parser = argparse.ArgumentParser()
parser.add_argument("--platform", choices=["cpu", "gpu", "tpu"], default="gpu")
parser.add_argument("--batch", type=int, default=32)
args = parser.parse_args()

model = nnx.Linear(16, 4, rngs=nnx.Rngs(0))
print("parameters:", sum(p.size for p in jax.tree.leaves(nnx.state(model))))
print("sanity check:", model(jnp.ones((1, 16))).shape)
devices = jax.devices(args.platform)
print(f"training on {len(devices)} devices")
batch = jax.device_put(jnp.ones((args.batch, 16)), devices[0])
print(model(batch).mean())
