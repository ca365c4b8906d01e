# /// case
# cause = "cancelled"
# exit_code = -2
# stop = {signal = "INT", when = "Epoch 4 "}
# ///
"""A training that its user stops at the keyboard."""

import time

import numpy as np

rng = np.random.default_rng(0)
x = rng.normal(size=(4000, 20))
y = (x[:, :3].sum(axis=1) > 0).astype(float)
w = np.zeros(20)
print("Start training, 500 epochs. Go get a coffee :)", flush=True)
for epoch in range(1, 501):
    order = rng.permutation(len(x))
    for i in range(0, len(x), 32):
        batch = order[i : i + 32]
        p = 1 / (1 + np.exp(-x[batch] @ w))
        w -= 0.05 * x[batch].T @ (p - y[batch]) / 32
    p = 1 / (1 + np.exp(-x @ w))
    print("Epoch", epoch, "accuracy", ((p > 0.5) == y).mean(), flush=True)
    time.sleep(0.5)
np.save("weights.npy", w)
