# /// case
# cause = "network"
# exit_code = 1
# paper_class = "traceback"
# ///
"""The tasks that fetch the clips are awaited, and the object store refuses."""

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


import asyncio


async def fetch(i):
    if i >= 3:
        reader, writer = await asyncio.open_connection("127.0.0.1", 9)
        writer.write(f"GET clips/{i}\n".encode())
    return clips(i)


async def main():
    model = Classifier()
    for first in (0, 3, 6):
        for x, y in await asyncio.gather(*(fetch(i) for i in range(first, first + 3))):
            print(f"loss {model.step(x, y):.4f}", flush=True)


asyncio.run(main())
