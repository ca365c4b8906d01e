# /// case
# cause = "file_not_found"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 3 --tee 3 {program}"
# ///
"""Each rank reads a shard of its own; the third one was never copied."""

import os
import sys

import numpy as np
import torch
import torch.distributed as dist


def prepare():
    os.makedirs("shards", exist_ok=True)
    for k in range(2):
        np.save(f"shards/train_{k:02d}.npy", np.random.default_rng(k).normal(size=(500, 4)))


def main():
    rank = int(os.environ["RANK"])
    if rank == 0:
        prepare()
    dist.init_process_group("gloo")
    dist.barrier()
    print(f"rank {rank}: loading shard {rank}", file=sys.stderr, flush=True)
    rows = torch.from_numpy(np.load(f"shards/train_{rank:02d}.npy"))
    total = rows.sum(0)
    dist.all_reduce(total)
    if rank == 0:
        print("column sums", total.tolist())
    dist.destroy_process_group()


main()
