# /// case
# cause = "cancelled"
# paper_class = "traceback"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# stop = {signal = "TERM", when = "step 40"}
# why = "SIGTERM to the agent with nothing else known"
# ///
"""The agent gets SIGTERM, ends its workers and raises a SignalException."""

import time

import torch
import torch.distributed as dist
from torch import nn


def main():
    dist.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(4000):
        loss = nn.functional.cross_entropy(model(torch.randn(16, 32)), torch.randint(0, 4, (16,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        if step % 10 == 0 and dist.get_rank() == 0:
            print(f"step {step} loss {loss.item():.4f} acc 0.25 (killed workers: 0)", flush=True)


main()
