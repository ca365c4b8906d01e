# /// case
# cause = "data"
# exit_code = 1
# paper_class = "traceback"
# ///
"""Every scene is skipped as unreadable, until none is left."""

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


from pathlib import Path

from PIL import Image

scenes = Path("scenes")
scenes.mkdir()
for i in range(4):
    (scenes / f"S2A_{i:03}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40 + i))
net = build()
usable = []
for file in sorted(scenes.glob("*.png")):
    try:
        usable.append(Image.open(file).convert("RGBA"))
    except OSError:
        log.exception("cannot read %s, skipping it", file)
if not usable:
    raise ValueError("0 of 4 scenes are usable, nothing to train on")
