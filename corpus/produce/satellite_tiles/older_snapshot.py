# /// case
# cause = "none"
# exit_code = 0
# ///
"""The newest snapshot is cut off, so the run resumes from the one before it."""

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
optimizer = torch.optim.Adam(net.parameters(), 3e-3)
for step in (100, 200):
    torch.save({"step": step, "net": net.state_dict()}, f"snapshot_{step}.pt")
with open("snapshot_200.pt", "r+b") as file:
    file.truncate(1500)

start = 0
for step in (200, 100):
    try:
        state = torch.load(f"snapshot_{step}.pt")
        net.load_state_dict(state["net"])
        start = state["step"]
        log.info("resumed from snapshot_%d.pt", step)
        break
    except Exception:
        log.exception("snapshot_%d.pt is unusable, trying an older one", step)
for step in range(start + 1, start + 121):
    loss = fit_batch(net, optimizer, *make_batch(8))
    if step % 20 == 0:
        log.info("step %d loss %.4f", step, loss)
torch.save({"step": step, "net": net.state_dict()}, f"snapshot_{step}.pt")
log.info("finished at step %d", step)
