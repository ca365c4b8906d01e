# /// case
# cause = "cancelled"
# paper_class = "traceback"
# exit_code = -2
# stop = { signal = "INT", when = "step 20", pid = "group" }
# why = "a Ctrl-C reaches the launcher and its processes"
# ///
"""Ctrl-C reaches all the processes of the run in mid-training."""

import time

import torch
import torch.multiprocessing as mp


def train(rank):
    torch.manual_seed(rank)
    w = torch.zeros(3, requires_grad=True)
    for step in range(4000):
        loss = (w - torch.arange(3.0)).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.01 * w.grad
            w.grad = None
        if rank == 0 and step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
        time.sleep(0.02)


if __name__ == "__main__":
    mp.spawn(train, nprocs=2)
