# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# environment = "jax"
# env = { KERAS_BACKEND = "jax" }
# needs = ["root"]
# ///
"""The checkpoint callback may not write into the folder of the models after the first epoch."""

import os

import keras
import numpy as np

os.makedirs("models/champion")
os.chmod("models/champion", 0o555)
keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
x = rng.normal(size=(300, 10)).astype("float32")
y = (x[:, 0] > 0).astype("float32")
inputs = keras.Input((10,), name="features")
outputs = keras.layers.Dense(1, activation="sigmoid")(
    keras.layers.Dense(8, activation="relu")(inputs)
)
model = keras.Model(inputs, outputs)
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.summary()
keep = keras.callbacks.ModelCheckpoint(
    "models/champion/best.keras", monitor="loss", save_best_only=True, verbose=1
)
model.fit(x, y, epochs=3, batch_size=50, callbacks=[keep], verbose=2)
