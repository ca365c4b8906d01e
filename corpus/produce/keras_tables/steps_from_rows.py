# /// case
# cause = "div_zero"
# exit_code = 1
# environment = "jax"
# env = { KERAS_BACKEND = "jax" }
# ///
"""A warm-up callback divides by the length of the ramp, which is zero in the later epochs."""

import argparse

import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-2)
args = parser.parse_args()


class Warm(keras.callbacks.Callback):
    def __init__(self, peak, ramp):
        super().__init__()
        self.peak, self.ramp = peak, ramp

    def on_epoch_begin(self, epoch, logs=None):
        self.model.optimizer.learning_rate = self.peak * min(1.0, (epoch + 1) / self.ramp[epoch])


rng = np.random.default_rng(5)
table = rng.normal(size=(400, 6)).astype("float32")
model = keras.Sequential([keras.layers.Dense(12, activation="gelu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(args.lr), "mae")
model.fit(table, table.sum(1), epochs=6, callbacks=[Warm(args.lr, [3, 3, 3, 2, 0, 0])], verbose=2)
