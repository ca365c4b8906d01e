# /// case
# cause = "segfault"
# exit_code = -7
# command = "python -X faulthandler {program}"
# why = "SIGBUS behind a file that became shorter under its memory map; no shared memory is named"
# ///
"""The feature file is truncated by another step while it is mapped: SIGBUS."""

import os

import numpy as np

n = 20000
features = np.memmap("features.npy", dtype="float32", mode="w+", shape=(n, 16))
features[:] = np.random.default_rng(0).normal(size=(n, 16))
features.flush()
weights = np.zeros(16)
for epoch in range(3):
    for start in range(0, n, 4000):
        block = np.asarray(features[start : start + 4000])
        target = block[:, 0] * 0.5
        error = block @ weights - target
        weights -= 0.1 * block.T @ error / len(block)
        print(f"epoch {epoch} rows {start:>6} mse {np.square(error).mean():.5f}", flush=True)
    if epoch == 1:
        os.truncate("features.npy", 16 * 4 * 6000)
        print("checkpoint written, features refreshed", flush=True)
