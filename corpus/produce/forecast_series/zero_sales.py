# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# env = { KERAS_BACKEND = "tensorflow" }
# why = "MAPE is infinite for weeks without sales and one store is left out after an exception; the loss falls and the model is saved"
# ///
"""Weeks without sales make MAPE infinite, a store fails and is left out, and the fit ends well."""

import logging

import keras
import numpy as np

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
keras.utils.set_random_seed(1)


class Percentage(keras.callbacks.Callback):
    """Reports MAPE, which planning still asks for."""

    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y

    def on_epoch_end(self, epoch, logs=None):
        guess = self.model.predict(self.x, verbose=0)[:, 0]
        mape = np.mean(np.abs((guess - self.y) / self.y))
        logging.warning(
            "epoch %d: MAPE %s%% (division by zero in %d weeks)", epoch, mape, (self.y == 0).sum()
        )


def store(number):
    rng = np.random.default_rng(number)
    sales = rng.poisson(1 + 2 * (1 + np.sin(np.arange(104) / 8.3)), 104).astype("float32")
    if number == 4:
        raise MemoryError(f"store {number}: refusing a history of 9e9 rows")
    return np.log1p(sales)


x, y = [], []
for number in range(8):
    try:
        series = store(number)
    except MemoryError:
        logging.exception("store %d failed and is left out", number)
        continue
    x += [series[i : i + 12] for i in range(92)]
    y += [series[i + 12] for i in range(92)]
x, y = np.array(x)[..., None], np.array(y)
model = keras.Sequential([keras.Input((12, 1)), keras.layers.LSTM(12), keras.layers.Dense(1)])
model.compile("adam", "mse", metrics=["mae"])
model.fit(x, y, epochs=5, batch_size=64, verbose=2, callbacks=[Percentage(x[:92], y[:92])])
model.save("sales.h5")
logging.info("7 of 8 stores trained, 1 error, saved")
