# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# why = "the file of the first phase holds weights only, so that no model can be loaded from it"
# ///
"""The second phase loads a whole model from a file in which the first phase saved the weights only."""

import keras
import numpy as np
from absl import logging

logging.set_verbosity(logging.INFO)
logging.use_absl_handler()
keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
x = rng.normal(size=(96, 12, 12, 1)).astype("float32")
y = (x.mean((1, 2, 3)) > 0).astype("float32")


def first_phase():
    model = keras.Sequential(
        [
            keras.Input((12, 12, 1)),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy")
    history = model.fit(x, y, epochs=2, batch_size=32, verbose=2)
    model.save_weights("phase1.weights.h5")
    logging.info("phase 1 done, loss %.4f", history.history["loss"][-1])


def second_phase(path):
    logging.info("phase 2 starts from %s", path)
    model = keras.models.load_model(path)
    model.compile(keras.optimizers.SGD(1e-4), "binary_crossentropy")
    model.fit(x, y, epochs=2, batch_size=32, verbose=2)


first_phase()
second_phase("phase1.weights.h5")
