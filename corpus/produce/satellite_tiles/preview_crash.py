# /// case
# cause = "none"
# exit_code = 0
# ///
"""A helper that renders previews crashes natively; the training does not need it."""

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


import subprocess

RENDER = "import ctypes, faulthandler; faulthandler.enable(); ctypes.string_at(8)"
net = build()
optimizer = torch.optim.Adam(net.parameters(), 3e-3)
for epoch in range(4):
    loss = sum(fit_batch(net, optimizer, *make_batch()) for _ in range(10)) / 10
    log.info("epoch %d loss %.4f", epoch, loss)
    if epoch == 2:
        done = subprocess.run([sys.executable, "-c", RENDER], check=False)
        if done.returncode:
            log.warning(
                "render_preview ended with %d, no preview for epoch %d", done.returncode, epoch
            )
torch.save(net.state_dict(), "last.pt")
log.info("training finished, weights in last.pt")
