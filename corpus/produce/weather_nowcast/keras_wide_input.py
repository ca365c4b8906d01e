# /// case
# cause = "shape_mismatch"
# exit_code = 1
# environment = "jax"
# paper_class = "traceback"
# ///
"""The frames have another width than the model; the exception is printed and raised again."""

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


import keras

model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile("adam", "mse")
try:
    model.fit(*radar(), epochs=3, verbose=2)
except ValueError:
    print("fit failed", flush=True)
    raise
