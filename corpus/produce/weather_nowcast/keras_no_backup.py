# /// case
# cause = "checkpoint"
# exit_code = 1
# environment = "jax"
# paper_class = "traceback"
# ///
"""The saved models are damaged, both of them."""

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

model = keras.Sequential([keras.Input((24,)), keras.layers.Dense(8), keras.layers.Dense(1)])
for epoch in (1, 2):
    model.save_weights(f"nowcast_{epoch}.weights.h5")
    os.truncate(f"nowcast_{epoch}.weights.h5", 3000 + epoch)
for epoch in (2, 1):
    try:
        model.load_weights(f"nowcast_{epoch}.weights.h5")
        break
    except Exception:
        traceback.print_exc()
        print(f"nowcast_{epoch}.weights.h5 is damaged", flush=True)
else:
    sys.exit("no model to resume from")
