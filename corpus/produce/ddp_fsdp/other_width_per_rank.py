# /// case
# cause = "config"
# paper_class = "runtime_error"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "the ranks were built with different options; DDP's verification says so on rank 1"
# ///
"""Each rank reads its width from another option, and DDP's verification of the models fails."""

import os

import torch
import torch.distributed as dist
from torch import nn

WIDTHS = {"0": 64, "1": 48}


def main():
    rank = os.environ["RANK"]
    width = WIDTHS[rank]
    dist.init_process_group("gloo")
    print(f"[rank {rank}] building model with --width {width}", flush=True)
    model = nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, 2))
    model = nn.parallel.DistributedDataParallel(model)
    model(torch.randn(2, 32)).sum().backward()


main()
