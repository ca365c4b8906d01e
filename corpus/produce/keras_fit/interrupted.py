# /// case
# cause = "cancelled"
# paper_class = "traceback"
# exit_code = -2
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# stop = {signal = "INT", when = "Epoch 3/40"}
# ///
"""A person stops the fit with Ctrl-C in the third epoch."""

import time

import keras
import numpy as np


class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.05)


keras.utils.set_random_seed(7)
x = np.random.rand(500, 30)
model = keras.Sequential(
    [keras.Input((30,)), keras.layers.Dense(50, "relu"), keras.layers.Dense(30)]
)
model.compile("adam", "mse")
model.fit(x, x, epochs=40, batch_size=25, callbacks=[Slow()])
model.save("autoencoder.keras")
