# /// case
# cause = "collective"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "rank 1 waits in the collective until its time is over; what rank 0 was doing does not appear"
# ///
"""Only rank 0 validates, and it takes longer than the group's timeout."""

import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn


def validate(model):
    time.sleep(9)
    return 0.7


def main():
    dist.init_process_group("gloo", timeout=timedelta(seconds=4))
    rank = dist.get_rank()
    model = nn.parallel.DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(3):
        for _ in range(20):
            loss = model(torch.randn(4, 8)).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        if rank == 0:
            print(f"Epoch {epoch}: train_loss={loss.item():.5f}", flush=True)
            if epoch == 1:
                validate(model)
    dist.destroy_process_group()


main()
