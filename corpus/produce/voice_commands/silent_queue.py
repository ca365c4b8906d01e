# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "the thread that reads the clips died of the missing file; the empty queue follows from it"
# ///
"""The thread that reads the clips dies, and the trainer waits for a batch in vain."""

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


import queue

ready = queue.Queue(maxsize=4)


def read_clips():
    for i in range(40):
        if i == 12:
            np.load("/data/speech_commands/part_0012.npy")
        ready.put(clips(i))


threading.Thread(target=read_clips, name="reader", daemon=True).start()
model, step = Classifier(), 0
while True:
    loss = model.step(*ready.get(timeout=3))
    step += 1
    print(f"[{step:3}] loss {loss:.4f}", flush=True)
