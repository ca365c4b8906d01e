# /// case
# cause = "collective"
# paper_class = ""
# exit_code = 124
# command = "timeout -s TERM 8 mpirun --allow-run-as-root --oversubscribe -np 3 python {program}"
# needs = ["root", "openmpi-bin"]
# why = "the stack dumps of all ranks show a collective that only two of three entered; the limit only ends it"
# ///
"""Rank 2 skips its last batch, and the others wait for it in allreduce until the limit."""

import faulthandler
import sys
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.Get_rank()
faulthandler.dump_traceback_later(5)
batches = 40 if rank != 2 else 39
for step in range(batches):
    time.sleep(0.02)
    total = world.allreduce(step)
    if rank == 0 and step % 10 == 0:
        print(f"step {step} total {total}", flush=True)
print(f"rank {rank}: all {batches} batches done, waiting at the final barrier", file=sys.stderr)
sys.stderr.flush()
world.Barrier()
world.Barrier()
