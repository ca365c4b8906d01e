# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# ///
"""A callback of Keras cannot reach the dashboard; it prints that and lets fit go on."""

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


import urllib.request

import keras


class Dashboard(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        try:
            urllib.request.urlopen(
                "http://127.0.0.1:9/nowcast", data=repr(logs).encode(), timeout=2
            )
        except OSError:
            if epoch == 1:
                traceback.print_exc()
            print(f"dashboard: epoch {epoch} not sent", file=sys.stderr)


model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(*radar(), epochs=4, verbose=2, callbacks=[Dashboard()])
