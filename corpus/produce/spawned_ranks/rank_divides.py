# /// case
# cause = "div_zero"
# exit_code = 1
# why = "rank 1 divides by zero; the other rank only loses its peer"
# ///
"""A rank counts its own tokens for the perplexity and has none."""

import math
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def count(texts):
    return sum(len(t.split()) for t in texts)


def evaluate(rank, world, shards):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29867")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    for name, texts in shards:
        mine = texts[rank::world]
        nll = torch.rand(()).item() * 40
        perplexity = math.exp(nll / count(mine) / 10)
        summed = torch.tensor(perplexity)
        dist.all_reduce(summed)
        if rank == 0:
            print(f"{name}: perplexity {summed.item() / world:.3f}", flush=True)


if __name__ == "__main__":
    wiki = ["the cat sat", "on the mat", "and slept", "for days"]
    news = ["markets fell", "", "rain is due", ""]
    mp.spawn(evaluate, args=(2, [("wiki", wiki), ("news", news)]), nprocs=2)
