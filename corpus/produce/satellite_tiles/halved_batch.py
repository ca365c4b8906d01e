# /// case
# cause = "none"
# exit_code = 0
# ///
"""A batch does not fit into memory; the trainer halves it until it does."""

import logging
import os
import sys

import torch
from torch import nn

logging.basicConfig(
    level=logging.INFO,
    stream=sys.stderr,
    format="%(asctime)s %(levelname)-8s %(name)s | %(message)s",
)
log = logging.getLogger("tiles")
torch.manual_seed(int(os.environ.get("SEED", "7")))


def build(channels=4, classes=6):
    return nn.Sequential(
        nn.Conv2d(channels, 8, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(128, classes),
    )


def fit_batch(net, optimizer, x, y):
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def make_batch(size=16, edge=24):
    y = torch.randint(0, 6, (size,))
    return torch.randn(size, 4, edge, edge) + y.view(-1, 1, 1, 1) * 0.4, y


net = build()
optimizer = torch.optim.SGD(net.parameters(), 0.05)
size, step = 1 << 36, 0
while step < 12:
    try:
        x = torch.empty(size, 4, 24, 24) if size > 4096 else None
    except RuntimeError:
        log.warning("step %d does not fit with a batch of %d", step, size, exc_info=size == 1 << 36)
        size >>= 14
        continue
    if size > 64:
        size = 64
        log.info("settled on batch size %d", size)
    loss = fit_batch(net, optimizer, *make_batch(size))
    step += 1
    log.info("step %d/12 loss %.4f", step, loss)
