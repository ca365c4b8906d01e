# /// case
# cause = "none"
# exit_code = 0
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "uneven inputs are joined as they should be, with warnings; the work is done"
# ///
"""Uneven inputs under DDP's join, with warnings of unused-parameter search and a leaked tracker."""

import torch
import torch.distributed as dist
from torch import nn


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = nn.parallel.DistributedDataParallel(nn.Linear(8, 1), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with model.join(throw_on_early_termination=False):
        for step in range(6 + 3 * rank):
            loss = model(torch.randn(4, 8)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"[{rank}] step {step} loss {loss.item():.4f} failed=0", flush=True)
    print(f"[{rank}] finished", flush=True)


main()
