# /// case
# cause = "none"
# exit_code = 0
# ///
"""A worker of the DataLoader raises; the epoch is cut short, and the next ones are complete."""

import sys
import threading
import time

import numpy as np

WORDS = ["yes", "no", "up", "down", "left", "right"]


class Classifier:
    """A softmax regression on spectral features."""

    def __init__(self, n_features=20):
        self.weights = np.zeros((n_features, len(WORDS)))

    def step(self, x, y, rate=0.3):
        scores = x @ self.weights
        p = np.exp(scores - scores.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        rows = np.arange(len(y))
        loss = -np.log(p[rows, y] + 1e-9).mean()
        p[rows, y] -= 1
        self.weights -= rate * x.T @ p / len(y)
        return float(loss)


def clips(seed, n=32):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(WORDS), n)
    x = rng.normal(size=(n, 20))
    x[np.arange(n), y] += 3
    return x, y


import traceback

from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    epoch = 0

    def __len__(self):
        return 24

    def __getitem__(self, i):
        x, y = clips(i, 16)
        if self.epoch == 1 and i == 14:
            raise EOFError(f"clip {i}: 1600 frames expected, the file has 812")
        return x, y


data, model = Clips(), Classifier()
for data.epoch in range(4):
    seen = 0
    try:
        for x, y in DataLoader(data, batch_size=None, num_workers=2):
            loss = model.step(np.asarray(x), np.asarray(y))
            seen += 1
    except EOFError:
        traceback.print_exc()
        print(f"epoch {data.epoch} ends after {seen} batches", flush=True)
    print(f"epoch {data.epoch} loss {loss:.4f} batches {seen}", flush=True)
print("training complete")
