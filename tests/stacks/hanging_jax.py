"""A training by JAX of two processes in which process 1 stops taking part.

Its arguments are the mode, the port of the coordinator, and the rank if no variable has it.  Each
process prints a line when it has taken three steps together with the other one.
"""

import os
import sys
import time

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tests.stacks.hanging_modes import hold_the_gil, loop, sleep, stop_itself, wait_for_a_child


def leave() -> None:
    """Leave without an error."""
    os._exit(0)


def work_slowly() -> None:
    """Compute at changing places, without an end."""
    while True:
        time.sleep(0.01)
        sum(range(100_000))
        sorted(range(100_000))


MODES = {
    "sleep": sleep,
    "loop": loop,
    "stop_itself": stop_itself,
    "hold_the_gil": hold_the_gil,
    "wait_for_a_child": wait_for_a_child,
    "leave": leave,
    "work_slowly": work_slowly,
}


def train(mode: str, rank: int, operation: str) -> None:
    """Take steps until process 1 does something else."""
    mesh = Mesh(jax.devices(), ("batch",))
    everywhere = NamedSharding(mesh, PartitionSpec("batch"))
    total = jax.jit(jnp.sum, out_shardings=NamedSharding(mesh, PartitionSpec()))
    for step in range(1000):
        if step == 3:
            print("ready", rank, flush=True)
            if rank == 1 and mode != "none":
                MODES[mode]()
        if operation == "barrier":
            multihost_utils.sync_global_devices(f"step {step}")
        elif operation == "gather":
            multihost_utils.process_allgather(jnp.ones(2))
        else:
            part = jax.make_array_from_process_local_data(everywhere, jnp.ones(2))
            loss = total(part)
            loss.block_until_ready() if operation == "block" else float(loss)


mode, operation, port, rank = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=rank)
train(mode, rank, operation)
