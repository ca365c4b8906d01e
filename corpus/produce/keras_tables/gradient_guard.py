# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# env = { KERAS_BACKEND = "jax" }
# why = "the guard replaces what is not finite, the fit reaches its end with a falling loss"
# ///
"""Rows without exposure are caught and left out with alarming messages; the fit ends well."""

import logging
import os

import keras
import numpy as np

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
x = rng.normal(size=(500, 5)).astype("float32")
exposure = rng.integers(0, 5, 500)
rate = np.zeros(500, dtype="float32")
bad = 0
for i in range(500):
    try:
        rate[i] = (abs(int(x[i, 0] * 4)) + 1) / int(exposure[i])
    except ZeroDivisionError as error:
        bad += 1
        if bad < 4:
            logging.error("row %d: %s: %s", i, type(error).__name__, error)
logging.warning("%d rows without exposure are left out", bad)
try:
    os.kill(1 << 22, 0)
except ProcessLookupError:
    logging.warning(
        "worker 4194304 was killed or never started; preprocessing runs in this process"
    )
keep = exposure > 0
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.02), "mse")
history = model.fit(x[keep], rate[keep], epochs=8, batch_size=64, verbose=2)
model.save("rates.keras")
print("final loss", round(history.history["loss"][-1], 3), "model saved to rates.keras")
