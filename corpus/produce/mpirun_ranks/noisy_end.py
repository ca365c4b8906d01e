# /// case
# cause = "none"
# exit_code = 0
# command = "mpirun --allow-run-as-root --oversubscribe -np 2 --mca btl_base_verbose 30 python {program}"
# needs = ["root", "openmpi-bin"]
# why = "transport messages and a retried read; the work is done"
# ///
"""Verbose transports and a retried read look like trouble, but the job is done."""

import sys
import warnings

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD


def read(path, attempts=2):
    for attempt in range(attempts):
        try:
            return np.load(path)
        except OSError as error:
            print(
                f"rank {world.rank}: attempt {attempt + 1} failed: {error!r}, retrying",
                file=sys.stderr,
            )
            world.Barrier()
            if world.rank == 0:
                np.save(path, np.arange(6.0))
            world.Barrier()


world.Barrier()
values = read("field.npy")
mean = world.allreduce(float(values.mean())) / world.size
with warnings.catch_warnings():
    warnings.simplefilter("always")
    np.log(np.array([0.0, mean]))
if world.rank == 0:
    print(f"mean over ranks {mean:.3f}, 0 errors, 0 aborted")
