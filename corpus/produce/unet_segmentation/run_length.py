# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "one annotation is malformed: a run without its length"
# ///
"""One annotation of the CSV has a run without a length, so the mask cannot be decoded."""

import csv
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

SIZE = 48


def write_annotations(path, n=60):
    random.seed(3)
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["ImageId", "EncodedPixels"])
        for i in range(n):
            starts = sorted(random.sample(range(1, SIZE * SIZE - 40), 4))
            runs = [str(v) for s in starts for v in (s, random.randint(3, 20))]
            if i == 43:
                runs.pop()
            rows.writerow([f"{i:06x}.png", " ".join(runs)])


def decode(runs):
    pairs = np.array(runs.split(), dtype=np.int64).reshape(-1, 2)
    mask = np.zeros(SIZE * SIZE, dtype=np.float32)
    for start, length in pairs:
        mask[start - 1 : start - 1 + length] = 1
    return mask.reshape(SIZE, SIZE).T.copy()


class Steel(Dataset):
    def __init__(self, path):
        with open(path, newline="") as file:
            self.rows = list(csv.DictReader(file))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        mask = torch.from_numpy(decode(self.rows[index]["EncodedPixels"]))[None]
        return mask + 0.3 * torch.randn_like(mask), mask


def main():
    write_annotations("train.csv")
    loader = DataLoader(Steel("train.csv"), batch_size=4, num_workers=2)
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(2):
        bar = tqdm(loader, desc=f"Epoch {epoch}", ncols=90)
        for image, mask in bar:
            loss = criterion(model(image), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bar.set_postfix(loss=f"{loss.item():.3f}")


if __name__ == "__main__":
    main()
