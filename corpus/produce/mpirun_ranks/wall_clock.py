# /// case
# cause = "time_limit"
# paper_class = ""
# exit_code = 110
# command = "mpirun --allow-run-as-root --oversubscribe --timeout 6 -np 2 python {program}"
# needs = ["root", "openmpi-bin"]
# ///
"""mpirun's own --timeout ends a job that was making progress."""

import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
weights = np.zeros(10)
for epoch in range(200):
    time.sleep(0.5)
    gradient = world.allreduce(np.full(10, 0.1))
    weights -= 0.01 * gradient
    if world.rank == 0:
        print(f"Epoch {epoch + 1}/200 |w|={np.linalg.norm(weights):.4f}", flush=True)
