# /// case
# cause = "collective"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 3 {program}"
# why = "a rank that does not reach the barrier; the log does not say what keeps it"
# ///
"""monitored_barrier names the rank that does not arrive in time."""

import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist

os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"


def tokenize(rank):
    time.sleep(0.2 if rank != 1 else 12)
    return torch.randint(0, 100, (64,))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    print(f"[{rank}] tokenizing", flush=True)
    tokens = tokenize(rank)
    dist.monitored_barrier(timeout=timedelta(seconds=4), wait_all_ranks=True)
    dist.all_reduce(tokens)
    print(f"[{rank}] done", flush=True)


main()
