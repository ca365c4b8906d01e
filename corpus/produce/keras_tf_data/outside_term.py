# /// case
# cause = "cancelled"
# paper_class = ""
# exit_code = -15
# environment = "jax"
# env = {KERAS_BACKEND = "jax", PYTHONUNBUFFERED = "1"}
# stop = {signal = "TERM", when = "Epoch 4/60"}
# why = "SIGTERM with nothing else known"
# ///
"""Something ends the run with SIGTERM in the fourth epoch."""

import time

import keras
import numpy as np


class Windows(keras.utils.PyDataset):
    def __init__(self, series, width=16):
        super().__init__()
        self.series, self.width = series, width

    def __len__(self):
        return 20

    def __getitem__(self, i):
        time.sleep(0.05)
        starts = np.arange(i * 10, i * 10 + 10)
        x = np.stack([self.series[s : s + self.width] for s in starts])
        return x, self.series[starts + self.width]


series = np.sin(np.linspace(0, 60, 400)).astype("float32")
model = keras.Sequential(
    [keras.Input((16,)), keras.layers.Dense(32, "tanh"), keras.layers.Dense(1)]
)
model.compile("adam", "mae")
model.fit(Windows(series), epochs=60, verbose=2)
