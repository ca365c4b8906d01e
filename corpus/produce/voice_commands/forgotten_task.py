# /// case
# cause = "none"
# exit_code = 0
# ///
"""A background task of asyncio fails, and nobody asks for its result."""

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


async def report(epoch, loss):
    reader, writer = await asyncio.open_connection("127.0.0.1", 9)
    writer.write(f"{epoch} {loss}\n".encode())


async def main():
    model = Classifier()
    for epoch in range(5):
        loss = np.mean([model.step(*clips(epoch * 40 + i)) for i in range(40)])
        print(f"epoch {epoch + 1}/5 - loss: {loss:.4f}", flush=True)
        if epoch == 1:
            asyncio.create_task(report(epoch, loss))
        await asyncio.sleep(0.05)


asyncio.run(main())
