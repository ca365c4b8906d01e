# /// case
# cause = "file_not_found"
# exit_code = 0
# why = "the exception ends main before any step; nothing was trained, although the status is 0"
# ///
"""The list of scenes is missing; main logs it and returns."""

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


def main():
    net = build()
    log.info("network with %d parameters", sum(p.numel() for p in net.parameters()))
    try:
        with open("/data/sentinel2/scenes_2024.txt") as file:
            scenes = file.read().split()
    except OSError:
        log.exception("cannot prepare the scenes")
        return
    log.info("training on %d scenes", len(scenes))


main()
