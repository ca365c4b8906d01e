# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A picture that was cut off while it was copied fails in a loader worker."""

import argparse
import logging
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

logger = logging.getLogger("train")


class Pictures(Dataset):
    def __init__(self, root):
        self.files = sorted(Path(root).glob("*/*.jpg"))
        self.classes = sorted({f.parent.name for f in self.files})

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        image = Image.open(self.files[i]).convert("RGB").resize((32, 32))
        x = torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1).float() / 255
        return x, self.classes.index(self.files[i].parent.name)


def make(root, n=60):
    rng = np.random.default_rng(0)
    for i in range(n):
        file = Path(root, ("cat", "dog")[i % 2], f"IMG_{i:04d}.jpg")
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(file)
    file = Path(root, "dog", "IMG_0043.jpg")
    file.write_bytes(file.read_bytes()[:900])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="data/train")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s: %(message)s"
    )
    make(args.data)
    dataset = Pictures(args.data)
    logger.info("found %d images in %d classes", len(dataset), len(dataset.classes))
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(2))
    optimizer = None
    for i, (x, y) in enumerate(DataLoader(dataset, 8, num_workers=args.workers)):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.01)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logger.info("batch %d loss %.4f", i, loss.item())


if __name__ == "__main__":
    main()
