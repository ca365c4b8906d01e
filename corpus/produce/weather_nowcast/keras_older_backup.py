# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# ///
"""The last saved model is damaged; the one before it is loaded, and training goes on."""

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

x, y = radar()
model = keras.Sequential([keras.Input((24,)), keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile("adam", "mse")
for epoch in (1, 2):
    model.fit(x, y, epochs=1, verbose=0)
    model.save(f"nowcast_{epoch}.keras")
os.truncate("nowcast_2.keras", 4000)
for epoch in (2, 1):
    try:
        model = keras.models.load_model(f"nowcast_{epoch}.keras")
        break
    except Exception:
        traceback.print_exc()
        print(f"nowcast_{epoch}.keras is damaged, taking the one before it", flush=True)
model.fit(x, y, epochs=4, initial_epoch=epoch, verbose=2)
model.save("nowcast_final.keras")
print("saved nowcast_final.keras")
