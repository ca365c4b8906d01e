# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# command = "mpirun --allow-run-as-root --oversubscribe -np 2 python -m mpi4py {program}"
# needs = ["root", "openmpi-bin"]
# ///
"""A task with a lambda inside is scattered to the ranks and cannot be pickled."""

from dataclasses import dataclass, field
from typing import Callable

from mpi4py import MPI


@dataclass
class Task:
    shard: int
    score: Callable = field(default_factory=lambda: lambda x: x * 2)


world = MPI.COMM_WORLD
print(f"rank {world.rank}: ready", flush=True)
tasks = [Task(k) for k in range(world.size)] if world.rank == 0 else None
task = world.scatter(tasks, root=0)
print(world.gather(task.score(task.shard)))
