# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search python {program}"
# needs = ["root"]
# ///
"""The folder of one class may not be listed by the user of the job."""

import logging
import os
from pathlib import Path

import numpy as np
import torch
from PIL import Image

logging.basicConfig(format="%(asctime)s | %(levelname)-8s | %(message)s", level=logging.DEBUG)
logging.getLogger("PIL").setLevel(logging.WARNING)
rng = np.random.default_rng(11)


def generate(root):
    for label in ("healthy", "rust", "scab"):
        for split in ("train", "val"):
            folder = root / split / label
            folder.mkdir(parents=True)
            for i in range(6):
                Image.fromarray(rng.integers(0, 255, (8, 8, 3), np.uint8)).save(folder / f"{i}.bmp")
    os.chmod(root / "val" / "rust", 0o000)


def load(folder):
    pictures, targets = [], []
    for target, label in enumerate(sorted(os.listdir(folder))):
        for name in sorted(os.listdir(folder / label)):
            pictures.append(np.asarray(Image.open(folder / label / name)).ravel() / 255)
            targets.append(target)
    logging.debug("%s: %d pictures", folder, len(pictures))
    return torch.tensor(np.stack(pictures)).float(), torch.tensor(targets)


data = Path("plants")
generate(data)
x, y = load(data / "train")
model = torch.nn.Linear(192, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(5):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    logging.info("epoch %d train_loss %.4f", epoch, loss.item())
try:
    x, y = load(data / "val")
finally:
    os.chmod(data / "val" / "rust", 0o755)
logging.info("val accuracy %.3f", (model(x).argmax(1) == y).float().mean())
