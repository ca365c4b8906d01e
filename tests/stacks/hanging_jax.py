"""A training by JAX of two processes in which process 1 stops taking part.

Its arguments are the mode, the operation in which the processes meet, the port of the coordinator,
and the number of the process.  Each prints a line when it has taken three steps with the other.
"""

import os
import sys

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tests.stacks import hanging_modes


def take_part(operation: str, step: int) -> None:
    """Take a step together with the other process."""
    if operation == "barrier":
        multihost_utils.sync_global_devices(f"step {step}")
        return
    mesh = Mesh(jax.devices(), ("batch",))
    part = jax.make_array_from_process_local_data(
        NamedSharding(mesh, PartitionSpec("batch")), jnp.ones(2)
    )
    total = jax.jit(jnp.sum, out_shardings=NamedSharding(mesh, PartitionSpec()))
    loss = total(part)
    float(loss)


def train(mode: str, operation: str, rank: int) -> None:
    """Take steps until process 1 does something else."""
    for step in range(1000):
        if step == 3:
            print("ready", rank, flush=True)
            if rank == 1 and mode == "leave":
                os._exit(0)
            elif rank == 1:
                getattr(hanging_modes, mode)()
        take_part(operation, step)


jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{sys.argv[3]}", num_processes=2, process_id=int(sys.argv[4]))
train(sys.argv[1], sys.argv[2], int(sys.argv[4]))
