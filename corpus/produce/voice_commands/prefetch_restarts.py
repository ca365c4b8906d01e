# /// case
# cause = "none"
# exit_code = 0
# ///
"""The prefetching thread meets a clip that is cut off, dies, and is started again behind it."""

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


import io
import queue
import wave

ready = queue.Queue(maxsize=4)


def recording(i):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(
            np.random.default_rng(i).integers(-999, 999, 1600, dtype=np.int16).tobytes()
        )
    return out.getvalue()[: 6 if i == 23 else None]


def prefetch(position):
    for i in range(position[0], 60):
        position[0] = i + 1
        with wave.open(io.BytesIO(recording(i))) as file:
            frames = np.frombuffer(file.readframes(1600), dtype=np.int16)
        x, y = clips(i)
        ready.put((x + frames[:20] / 1e5, y))
    ready.put(None)


position, model, step = [0], Classifier(), 0
thread = threading.Thread(target=prefetch, args=(position,), name="prefetch")
thread.start()
while True:
    if not thread.is_alive() and ready.empty():
        print(f"prefetch thread died at clip {position[0] - 1}, starting it again", flush=True)
        thread = threading.Thread(target=prefetch, args=(position,), name="prefetch-2")
        thread.start()
    try:
        item = ready.get(timeout=0.2)
    except queue.Empty:
        continue
    if item is None:
        break
    step += 1
    loss = model.step(*item)
    if step % 10 == 0:
        print(f"[{step:3}] loss {loss:.4f}", flush=True)
print(f"{step} batches, final loss {loss:.4f}")
