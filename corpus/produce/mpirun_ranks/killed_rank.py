# /// case
# cause = "killed_unknown"
# paper_class = ""
# exit_code = 137
# command = "mpirun --allow-run-as-root --oversubscribe -np 2 --tag-output python {program}"
# needs = ["root", "openmpi-bin"]
# why = "mpirun reports signal 9 and nothing says who sent it"
# ///
"""A rank is killed from outside in mid-run; mpirun reports signal 9."""

import os
import signal
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.Get_rank()
if world.bcast(rank, root=0) == 0 and rank == 1 and os.fork() == 0:
    time.sleep(1.0)
    os.kill(os.getppid(), signal.SIGKILL)
    os._exit(0)
for step in range(1000):
    time.sleep(0.05)
    loss = world.allreduce(1 / (step + 1 + rank)) / 2
    if rank == 0:
        print(f"step {step}: loss {loss:.4f}", flush=True)
