# /// case
# cause = "none"
# exit_code = 0
# command = "torchrun --standalone --nproc-per-node 2 --max-restarts 2 {program}"
# why = "the elastic restart recovered and the second attempt ends well"
# ///
"""The first attempt dies of a broken shard; the agent restarts the workers, who finish."""

import os

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


def read_shard(rank, attempt):
    if attempt == 0 and rank == 1:
        raise OSError(5, "Input/output error", "shard-00007.tar")
    return torch.full((10,), float(rank))


@record
def main():
    rank, attempt = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    print(f"[rank {rank}] attempt {attempt}, reading shards", flush=True)
    rows = read_shard(rank, attempt)
    dist.init_process_group("gloo")
    weight = torch.zeros(10)
    for step in range(12):
        gradient = rows * step
        dist.all_reduce(gradient)
        weight -= 0.01 * gradient
        if rank == 0 and step % 3 == 0:
            print(f"step {step} |w| {weight.norm():.3f}", flush=True)
    if rank == 0:
        print("training finished, final snapshot written", flush=True)
    dist.barrier()
    dist.destroy_process_group()


main()
