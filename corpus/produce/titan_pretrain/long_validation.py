# /// case
# cause = "collective"
# paper_class = "nccl"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# timeout_s = 120
# why = "rank 0 alone writes samples for longer than the time-out of the group; no rank has an error of its own before"
# ///
"""Rank 0 generates samples alone and the other rank's collective runs out of time."""

import datetime
import logging
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

RANK = int(os.environ["RANK"])
logging.basicConfig(
    level=logging.INFO,
    format=f"[rank{RANK}]:[titan] %(asctime)s - %(name)s - %(levelname)s - %(message)s",
)
logger = logging.getLogger()


class Sampler:
    def __init__(self, every, count):
        self.every, self.count = every, count

    def maybe_sample(self, step, model):
        if step % self.every or RANK:
            return
        logger.info(f"generating {self.count} samples at step {step}")
        for i in range(self.count):
            time.sleep(0.5)
            if i % 8 == 0:
                logger.info(f"sample {i}: the cat sat on the killed process")


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=6))
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = Sampler(every=10, count=24)
    for step in range(1, 100):
        x = torch.randn(8, 16)
        loss = (model(x) - x.roll(1, 1)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 5 == 0:
            logger.info(f"step: {step:2}  loss: {loss.item():7.4f}")
        sampler.maybe_sample(step, model)


main()
