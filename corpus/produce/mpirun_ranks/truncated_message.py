# /// case
# cause = "collective"
# paper_class = "traceback"
# exit_code = 15
# command = "mpirun --allow-run-as-root --oversubscribe -np 2 python -m mpi4py {program}"
# needs = ["root", "openmpi-bin"]
# why = "the ranks call one collective with buffers of different size: a mismatch"
# ///
"""Gradients of different length are broadcast and received: MPI_ERR_TRUNCATE."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.Get_rank()
for step in range(5):
    length = 1000 if step < 3 or rank == 0 else 900
    gradient = np.full(length, float(rank))
    world.Bcast(gradient, root=0)
    print(f"[rank {rank}] step {step} |g| {np.linalg.norm(gradient):.2f}", flush=True)
