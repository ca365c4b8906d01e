# /// case
# cause = "none"
# exit_code = 0
# ///
"""One scene cannot be opened; it is skipped, and the epoch goes on."""

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

import numpy as np
from PIL import Image

scenes = Path("scenes")
scenes.mkdir()
for i in range(12):
    pixels = np.random.default_rng(i).integers(0, 255, (24, 24, 4), dtype=np.uint8)
    Image.fromarray(pixels).save(scenes / f"S2A_{i:03}.png")
(scenes / "S2A_005.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
net = build()
optimizer = torch.optim.Adam(net.parameters(), 1e-2)
for epoch in range(3):
    losses, skipped = [], 0
    for file in sorted(scenes.glob("*.png")):
        try:
            tile = np.asarray(Image.open(file), dtype=np.float32) / 255
        except OSError:
            if epoch == 0:
                log.exception("cannot read %s, skipping it", file)
            skipped += 1
            continue
        x = torch.from_numpy(tile).permute(2, 0, 1).unsqueeze(0)
        losses.append(fit_batch(net, optimizer, x, torch.tensor([int(file.stem[-1]) % 6])))
    log.info(
        "epoch %d: mean loss %.4f over %d scenes, %d skipped",
        epoch,
        np.mean(losses),
        len(losses),
        skipped,
    )
torch.save(net.state_dict(), "tiles.pt")
log.info("model written to tiles.pt (%d bytes)", Path("tiles.pt").stat().st_size)
