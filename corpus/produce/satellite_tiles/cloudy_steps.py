# /// case
# cause = "none"
# exit_code = 0
# ///
"""Batches full of clouds give a loss that is not finite; those steps are dropped."""

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


import traceback


def checked_step(net, optimizer, x, y):
    loss = nn.functional.cross_entropy(net(x), y)
    if not torch.isfinite(loss):
        raise FloatingPointError(f"loss is {loss.item()}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


net = build()
optimizer = torch.optim.Adam(net.parameters(), 2e-3)
for step in range(1, 41):
    x, y = make_batch()
    if step in (9, 27):
        x[3] = float("nan")
    try:
        loss = checked_step(net, optimizer, x, y)
    except FloatingPointError:
        traceback.print_exc()
        log.warning("step %d dropped", step)
        continue
    if step % 4 == 0:
        log.info("step %d loss %.4f", step, loss)
