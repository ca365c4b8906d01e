# /// case
# cause = "collective"
# exit_code = 124
# command = "timeout -s TERM 9 mpirun --allow-run-as-root --oversubscribe -np 3 python {program}"
# needs = ["root", "openmpi-bin"]
# why = "the stack dumps show two ranks in allreduce and one, which had a batch less, in another collective; the limit only ends it"
# ///
"""Rank 2 has a batch less, and the others wait for it in allreduce until the limit."""

import faulthandler
import sys
import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.Get_rank()


def allreduce_gradients(gradient):
    total = np.empty_like(gradient)
    world.Allreduce(gradient, total)
    return total / world.size


def gather_metrics(values):
    return world.gather(values, root=0), world.Barrier()


def train(batches):
    for step in range(batches):
        time.sleep(0.02)
        gradient = allreduce_gradients(np.full(1000, float(rank)))
        if rank == 0 and step % 10 == 0:
            print(f"step {step} |g| {np.linalg.norm(gradient):.3f}", flush=True)
    print(f"rank {rank}: epoch done after {batches} batches", file=sys.stderr, flush=True)


faulthandler.dump_traceback_later(5)
train(40 if rank != 2 else 39)
gather_metrics({"rank": rank})
