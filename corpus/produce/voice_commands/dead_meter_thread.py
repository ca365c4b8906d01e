# /// case
# cause = "none"
# exit_code = 0
# ///
"""A thread that watches the temperature dies; the training does not need it."""

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


def watch_temperature(interval_s):
    while True:
        with open("/sys/class/hwmon/hwmon77/temp1_input") as file:
            print("temperature", int(file.read()) / 1000)
        time.sleep(interval_s)


threading.Thread(target=watch_temperature, args=(1,), name="temperature", daemon=True).start()
model = Classifier()
for epoch in range(6):
    losses = [model.step(*clips(epoch * 50 + i)) for i in range(50)]
    print(f"epoch {epoch}  loss {np.mean(losses):.4f}", flush=True)
np.savez("words.npz", weights=model.weights)
print("wrote words.npz")
