# /// case
# cause = "device_mismatch"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "both ranks raise the same error; the launcher only gives exit codes"
# ///
"""The router of a mixture of experts sums with indices from another device than its outputs."""

import os

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
rank = int(os.environ["LOCAL_RANK"])
torch.manual_seed(0)


class Experts(nn.Module):
    def __init__(self, width, experts, home):
        super().__init__()
        self.router = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))
        self.home = home

    def forward(self, x):
        choice = self.router(x).argmax(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (choice == number).nonzero().squeeze(1)
            result = expert(x[rows]).to(self.home[number])
            out = out.index_add(0, rows, result)
        return out


model = Experts(16, 4, ["cpu"] * 4)
for step in range(8):
    if step == 5:
        model.home[3] = "meta"
    out = model(torch.randn(64, 16))
    loss = out.pow(2).mean()
    dist.all_reduce(loss)
    if rank == 0:
        print(f"step {step}: aux loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()
