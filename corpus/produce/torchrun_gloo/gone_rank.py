# /// case
# cause = "killed_unknown"
# paper_class = ""
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 3 {program}"
# why = "exit code -9 of one rank and nothing that says who sent it"
# ///
"""A rank is killed in the middle of an epoch; the other two report a closed connection."""

import os
import signal
import threading

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def killer_outside(after_s):
    threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGKILL)).start()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(nn.Linear(64, 64))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    if rank == 2:
        killer_outside(1.5)
    for step in range(100_000):
        loss = (model(torch.randn(32, 64)) - 1).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 200 == 0 and rank == 0:
            print(f"epoch 0 step {step} loss={loss.item():.3f}", flush=True)
    dist.destroy_process_group()


main()
