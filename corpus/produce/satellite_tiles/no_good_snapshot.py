# /// case
# cause = "checkpoint"
# exit_code = 1
# paper_class = "runtime_error"
# ///
"""All snapshots are cut off, so there is nothing to resume from."""

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
for step in (100, 200):
    torch.save({"step": step, "net": net.state_dict()}, f"snapshot_{step}.pt")
    with open(f"snapshot_{step}.pt", "r+b") as file:
        file.truncate(1200 + step)
for step in (200, 100):
    try:
        state = torch.load(f"snapshot_{step}.pt")
        break
    except Exception:
        log.exception("snapshot_%d.pt is unusable, trying an older one", step)
        if step == 100:
            raise
