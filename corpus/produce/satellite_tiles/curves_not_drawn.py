# /// case
# cause = "none"
# exit_code = 0
# ///
"""The plot at the end cannot be drawn; the model was saved before."""

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
history = []
for step in range(60):
    history.append(fit_batch(net, optimizer, *make_batch()))
    if step % 15 == 0:
        log.info("step %d loss %.4f", step, history[-1])
torch.save(net.state_dict(), "land_cover.pt")
log.info("saved land_cover.pt")
try:
    import matplotlib.pyplot as plt

    plt.plot(history)
    plt.savefig("curves.png")
except Exception:
    log.error("no curves this time", exc_info=True)
log.info("all done, %d steps", len(history))
