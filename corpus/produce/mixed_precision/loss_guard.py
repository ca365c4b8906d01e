# /// case
# cause = "nan_loss"
# exit_code = 1
# why = "the guard of the program ends the run; no exception"
# ///
"""The guard of the training loop finds a loss that is not finite and leaves with status 1."""

import math
import sys
import time

import torch
from torch import nn


class SmoothedValue:
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value)

    def __str__(self):
        last = self.values[-20:]
        return f"{last[-1]:.4f} ({sum(last) / len(last):.4f})"


def train_one_epoch(model, optimizer, batches, epoch, temperature):
    meter, start = SmoothedValue(), time.time()
    for i in range(batches):
        x = torch.randn(64, 16)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = nn.functional.normalize(model(x), dim=-1)
            logits = z @ z.T / temperature(epoch * batches + i)
            loss = nn.functional.cross_entropy(logits.float().exp(), torch.arange(64))
        loss_value = loss.item()
        if not math.isfinite(loss_value):
            print(f"Loss is {loss_value}, stopping training")
            sys.exit(1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss_value)
        if i % 10 == 0:
            eta = (time.time() - start) / (i + 1) * (batches - i)
            print(
                f"Epoch: [{epoch}]  [{i:3d}/{batches}]  eta: {eta:.0f}s  lr: 0.000500  loss: {meter}"
            )


model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
for epoch in range(5):
    train_one_epoch(model, optimizer, 50, epoch, lambda step: max(1.0 - step / 140, 0.001))
