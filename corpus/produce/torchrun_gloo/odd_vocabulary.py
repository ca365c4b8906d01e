# /// case
# cause = "collective"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 --tee 3 {program}"
# why = "ranks enter one all_reduce with tensors of different size; the log shows nothing earlier"
# ///
"""Histograms of different length are summed over the ranks, and gloo aborts."""

import logging
import os

import torch
import torch.distributed as dist

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(name)s: %(message)s")
log = logging.getLogger("count_tokens")


def count(shard):
    tokens = torch.randint(0, 900 + 100 * shard, (5000,))
    return torch.bincount(tokens).float()


def main():
    rank = int(os.environ["RANK"])
    torch.manual_seed(rank)
    dist.init_process_group("gloo")
    log.info("rank %d of %d ready", rank, dist.get_world_size())
    counts = count(rank)
    log.info("local histogram: %d types, %d tokens", len(counts), int(counts.sum()))
    dist.all_reduce(counts)
    log.info("global histogram: %d tokens", int(counts.sum()))
    dist.destroy_process_group()


main()
