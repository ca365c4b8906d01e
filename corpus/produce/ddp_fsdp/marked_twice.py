# /// case
# cause = "runtime_error"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 1 {program}"
# ///
"""A module is used twice under reentrant checkpointing in DDP that looks for unused parameters: marked ready twice."""

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.checkpoint import checkpoint


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        for _ in range(2):
            x = checkpoint(self.layer, x, use_reentrant=True)
        return x


def main():
    dist.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(Shared(), find_unused_parameters=True)
    x = torch.randn(4, 8, requires_grad=True)
    model(x).sum().backward()
    print("done")


main()
