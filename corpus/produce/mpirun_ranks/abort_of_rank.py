# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 5
# command = "mpirun --allow-run-as-root --oversubscribe -np 3 python {program}"
# needs = ["root", "openmpi-bin"]
# why = "rank 2 says why before it calls MPI_ABORT; the abort text is the launcher's"
# ///
"""A rank finds labels in its shard that are not numbers and calls MPI_Abort."""

import csv
import io
import sys
import traceback

from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.Get_rank()
SHARDS = ["x,label\n1.0,0\n2.0,1\n", "x,label\n1.5,1\n", "x,label\n0.5,1\n0.7,n/a\n"]


def labels(shard):
    return [int(row["label"]) for row in csv.DictReader(io.StringIO(shard))]


try:
    mine = labels(SHARDS[rank])
    print(f"rank {rank}: {len(mine)} rows", flush=True)
    world.allreduce(sum(mine))
except ValueError:
    traceback.print_exc()
    sys.stderr.flush()
    world.Abort(5)
