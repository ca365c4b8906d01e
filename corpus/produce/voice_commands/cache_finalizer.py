# /// case
# cause = "none"
# exit_code = 0
# ///
"""The finalizer of a feature cache fails; Python ignores that."""

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


import tempfile


class FeatureCache:
    def __init__(self):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".feat")
        self.index = {}

    def put(self, key, x):
        self.index[key] = self.file.tell()
        self.file.write(repr(x.mean()))

    def __del__(self):
        self.file.close()
        self.file.flush()


cache, model = FeatureCache(), Classifier()
for step in range(1, 121):
    x, y = clips(step)
    cache.put(step, x)
    loss = model.step(x, y)
    if step % 30 == 0:
        print(f"step={step} loss={loss:.5f} cached={len(cache.index)}", flush=True)
hits = np.mean([(x @ model.weights).argmax(1) == y for x, y in [clips(9000)]])
print(f"test accuracy {hits:.3f}", flush=True)
