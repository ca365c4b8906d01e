# /// case
# cause = "file_not_found"
# exit_code = 0
# environment = "jax"
# why = "main prints the exception before any step and ends; the status is 0"
# ///
"""The archive of radar images is missing; main prints the exception and ends."""

import os
import sys
import traceback

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
import numpy as np


def radar(n=256, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.gamma(2.0, 1.0, size=(n, 24)).astype("float32")
    y = (x[:, -6:].mean(1, keepdims=True) * 0.8 + 0.1).astype("float32")
    return x, y


import jax


def main():
    print("devices:", [d.platform for d in jax.devices()], flush=True)
    try:
        frames = np.load("/data/radar/2023_composites.npz")["frames"]
    except Exception:
        traceback.print_exc()
        return
    for step, frame in enumerate(frames):
        print(f"step {step} mean {frame.mean():.3f}", flush=True)


main()
