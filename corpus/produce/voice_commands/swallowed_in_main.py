# /// case
# cause = "traceback"
# exit_code = 0
# why = "the exception comes before the first epoch, and main only prints it; nothing was trained"
# ///
"""The settings are used wrongly before the first epoch; main prints the exception and ends."""

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

SETTINGS = {"epochs": 5, "rate": 0.3, "words": WORDS}


def main():
    model = Classifier()
    print("words:", ", ".join(SETTINGS["words"]), flush=True)
    try:
        for epoch in range(SETTINGS.epochs):
            loss = np.mean([model.step(*clips(i)) for i in range(30)])
            print(f"epoch {epoch} loss {loss:.4f}", flush=True)
    except Exception:
        traceback.print_exc()


if __name__ == "__main__":
    main()
