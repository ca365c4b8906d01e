# /// case
# cause = "collective"
# exit_code = 1
# command = "bash -c 'python {program} 2>&1'"
# why = "the group was formed and rank 0 with the store then left in mid-run; no error of its own is visible"
# ///
"""The rank that holds the store ends early, and a later subgroup of the others cannot be made."""

import datetime
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def run(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29851")
    dist.init_process_group(
        "gloo", rank=rank, world_size=world, timeout=datetime.timedelta(seconds=8)
    )
    x = torch.ones(3) * rank
    dist.all_reduce(x)
    print(f"rank {rank}: warm-up sum {x[0].item():.0f}", flush=True)
    if rank == 0:
        sys.exit(0)
    time.sleep(2)
    pair = dist.new_group([1, 2])
    dist.all_reduce(x, group=pair)
    print(f"rank {rank}: pair sum {x[0].item():.0f}", flush=True)


if __name__ == "__main__":
    mp.spawn(run, args=(3,), nprocs=3)
