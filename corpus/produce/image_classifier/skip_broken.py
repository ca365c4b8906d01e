# /// case
# cause = "none"
# exit_code = 0
# why = "broken pictures are skipped with a warning and a stack trace; the training ends well"
# ///
"""Broken pictures are reported and skipped; the training goes on and ends well."""

import logging
from pathlib import Path

import numpy as np
import torch
from PIL import Image

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("images")


def read(path):
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("L"), dtype=np.float32).ravel() / 255
    except (OSError, SyntaxError):
        log.warning("skipping corrupt image %s", path, exc_info=True)
        return None


def main():
    root = Path("faces")
    root.mkdir()
    rng = np.random.default_rng(2)
    for i in range(50):
        Image.fromarray(rng.integers(0, 255, (12, 12), np.uint8)).save(root / f"{i:02d}.png")
    for bad in (7, 31):
        (root / f"{bad:02d}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 30)
    arrays = [a for a in (read(p) for p in sorted(root.iterdir())) if a is not None]
    log.info("%d of %d images usable, 2 errors", len(arrays), 50)
    x = torch.tensor(np.stack(arrays))
    model = torch.nn.Sequential(torch.nn.Linear(144, 20), torch.nn.Tanh(), torch.nn.Linear(20, 144))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(1, 11):
        loss = (model(x) - x).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("epoch %2d/10 loss %.4f", epoch, loss.item())
    torch.save(model.state_dict(), "model.pt")
    log.info("saved model.pt, done (failed images: 07.png 31.png)")


main()
