# /// case
# cause = "cancelled"
# paper_class = ""
# exit_code = -10
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# stop = {signal = "USR1", when = "Epoch 4/500"}
# why = "SIGUSR1 from outside in mid-run, and nothing says who sent it"
# ///
"""A signal that the program does not handle ends the fit in mid-run."""

import os

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)
x = rng.random((600, 16, 16, 3), dtype="float32")
y = keras.utils.to_categorical(rng.integers(0, 5, 600), 5)
model = keras.Sequential(
    [
        layers.SeparableConv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Dropout(0.25),
        layers.Flatten(),
        layers.Dense(5, activation="softmax"),
    ]
)
model.compile(
    "nadam", "categorical_crossentropy", metrics=["accuracy", keras.metrics.AUC(name="auc")]
)
print(f"pid {os.getpid()}, 500 epochs", flush=True)
callbacks = [
    keras.callbacks.BackupAndRestore("backup"),
    keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=3),
]
model.fit(x, y, epochs=500, batch_size=50, callbacks=callbacks)
print("finished")
