# /// case
# cause = "div_zero"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# ///
"""The learning rate schedule divides by the number of restarts, which is zero."""

import math

import keras
import numpy as np


class Restarts(keras.callbacks.Callback):
    """Cosine schedule; a period ends at each restart."""

    def __init__(self, base, epochs):
        super().__init__()
        self.base, self.epochs, self.done = base, epochs, 0

    def on_epoch_begin(self, epoch, logs=None):
        phase = epoch / self.epochs * math.pi
        self.model.optimizer.learning_rate = self.base * (1 + math.cos(phase)) / 2

    def on_train_end(self, logs=None):
        print("mean period", self.epochs / self.done)


keras.utils.set_random_seed(9)
x = np.random.rand(200, 5).astype("float32")
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.1), "mse")
model.fit(x, x.mean(1), epochs=4, batch_size=25, verbose=2, callbacks=[Restarts(0.1, 4)])
