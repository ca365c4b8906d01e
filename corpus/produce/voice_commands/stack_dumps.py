# /// case
# cause = "none"
# exit_code = 0
# ///
"""faulthandler prints all stacks when an epoch is slow; that is only for information."""

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


import faulthandler

faulthandler.enable()
model = Classifier()
for epoch in range(4):
    faulthandler.dump_traceback_later(0.4, exit=False)
    for i in range(30):
        loss = model.step(*clips(epoch * 30 + i))
    time.sleep(0.9 if epoch == 2 else 0)
    faulthandler.cancel_dump_traceback_later()
    print(f"epoch {epoch} loss {loss:.4f}", flush=True)
np.save("final.npy", model.weights)
print("saved final.npy")
