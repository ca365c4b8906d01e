# /// case
# cause = "none"
# exit_code = 0
# ///
"""A message that is sent at the interpreter's end cannot be delivered."""

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


import atexit
import urllib.request


def tell_dashboard():
    urllib.request.urlopen("http://127.0.0.1:9/runs/finished", timeout=2)


atexit.register(tell_dashboard)
net = build()
optimizer = torch.optim.AdamW(net.parameters(), 3e-3)
best = float("inf")
for epoch in range(5):
    loss = sum(fit_batch(net, optimizer, *make_batch()) for _ in range(8)) / 8
    if loss < best:
        best = loss
        torch.save(net.state_dict(), "best.pt")
    log.info("epoch %d/5 loss %.4f best %.4f", epoch + 1, loss, best)
log.info("best loss %.4f, weights in best.pt", best)
