# /// case
# cause = "segfault"
# exit_code = 139
# command = "mpirun --allow-run-as-root --oversubscribe -np 2 python {program}"
# needs = ["root", "openmpi-bin"]
# ///
"""One rank's native code writes to a wild pointer; mpirun prints its backtrace and summary."""

import ctypes
import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.Get_rank()
field = np.zeros(500)
for step in range(20):
    field += world.allreduce(float(step))
    if rank == 0:
        print(f"step {step} field {field.mean():.1f}", flush=True)
    if rank == 1 and step == 12:
        time.sleep(0.2)
        ctypes.memset(0x10, 0, 64)
world.Barrier()
