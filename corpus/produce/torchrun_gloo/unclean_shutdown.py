# /// case
# cause = "none"
# exit_code = 0
# command = "torchrun --nproc-per-node 2 --master-port 29641 {program}"
# env = {TORCH_CPP_LOG_LEVEL = "INFO", TORCH_DISTRIBUTED_DEBUG = "INFO"}
# why = "warnings about connections at shutdown; the work is done"
# ///
"""Rank 0 leaves without destroying the group, and c10d warns about it at the end."""

import time

import torch
import torch.distributed as dist
from torch import nn


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 4), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(30):
        loss = model(torch.randn(4, 4)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    if rank == 0:
        torch.save(model.module.state_dict(), "final.pt")
        print("saved final.pt", flush=True)
    else:
        time.sleep(1)


main()
