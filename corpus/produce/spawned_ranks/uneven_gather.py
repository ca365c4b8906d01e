# /// case
# cause = "collective"
# exit_code = 1
# why = "the sizes of the ranks do not fit and gloo says so; no other error comes before"
# ///
"""The ranks hand gathers of different length to gloo, because the last batch is not padded."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def evaluate(rank, world, samples):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29811")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(rank)
    mine = range(rank, samples, world)
    for start in range(0, len(mine), 8):
        scores = torch.rand(len(mine[start : start + 8]))
        parts = [torch.empty_like(scores) for _ in range(world)]
        dist.all_gather(parts, scores)
        if rank == 0:
            print(
                f"scored {start + len(scores)} per rank, best {torch.cat(parts).max():.4f}",
                flush=True,
            )
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(evaluate, args=(2, 51), nprocs=2)
