# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the error is logged with logger.exception, the process leaves with sys.exit(1)"
# ///
"""An error page was saved under the name of a picture."""

import logging
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image

logging.basicConfig(level=logging.INFO, format="[%(levelname).1s %(asctime)s] %(message)s")
log = logging.getLogger(__name__)


def prepare(root):
    root.mkdir(parents=True)
    rng = np.random.default_rng(5)
    for i in range(24):
        pixels = rng.integers(0, 255, (16, 16, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(root / f"{i:03d}.png")
    (root / "017.png").write_text("<html><body>Too Many Requests</body></html>")


def batches(root, size=6):
    stack = []
    for file in sorted(root.glob("*.png")):
        with Image.open(file) as image:
            stack.append(np.asarray(image, dtype=np.float32) / 255)
        if len(stack) == size:
            yield torch.tensor(np.stack(stack)).flatten(1)
            stack = []


def train(root):
    auto = torch.nn.Sequential(torch.nn.Linear(768, 16), torch.nn.Linear(16, 768))
    optimizer = torch.optim.Adam(auto.parameters())
    for step, x in enumerate(batches(root)):
        loss = (auto(x) - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d reconstruction error %.5f", step, loss.item())


if __name__ == "__main__":
    folder = Path("images")
    prepare(folder)
    try:
        train(folder)
    except Exception:
        log.exception("training failed")
        sys.exit(1)
