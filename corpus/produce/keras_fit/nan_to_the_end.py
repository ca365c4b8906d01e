# /// case
# cause = "nan_loss"
# paper_class = "nan_loss"
# exit_code = 0
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# why = "the loss is nan from the first epoch to the last, exit status 0"
# ///
"""A logarithm of negative features makes the loss nan from the start to the end."""

import keras
import numpy as np
from keras import ops


class LogFeatures(keras.layers.Layer):
    def call(self, x):
        return ops.log(x)


keras.utils.set_random_seed(3)
x = np.random.normal(1.0, 0.6, (600, 6)).astype("float32")
y = (x.mean(1) > 1).astype("float32")
model = keras.Sequential(
    [
        keras.Input((6,)),
        LogFeatures(),
        keras.layers.Dense(16, "tanh"),
        keras.layers.Dense(1, "sigmoid"),
    ]
)
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, validation_split=0.2, epochs=6, batch_size=60, verbose=2)
print("Evaluation:", model.evaluate(x[480:], y[480:], verbose=0))
