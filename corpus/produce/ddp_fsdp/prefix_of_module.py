# /// case
# cause = "checkpoint"
# paper_class = "runtime_error"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 1 {program}"
# ///
"""A checkpoint saved from the wrapped model is loaded into the plain one."""

import torch
import torch.distributed as dist
from torch import nn


def build():
    return nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 50))


def main():
    dist.init_process_group("gloo")
    wrapped = nn.parallel.DistributedDataParallel(build())
    torch.save({"model": wrapped.state_dict(), "epoch": 4}, "last.pt")
    saved = torch.load("last.pt")
    print("resuming from last.pt, epoch", saved["epoch"], flush=True)
    model = build()
    model.load_state_dict(saved["model"])
    dist.destroy_process_group()


main()
