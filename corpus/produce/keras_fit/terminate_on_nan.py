# /// case
# cause = "nan_loss"
# paper_class = "nan_loss"
# exit_code = 0
# environment = "jax"
# env = {KERAS_BACKEND = "tensorflow", TF_CPP_MIN_LOG_LEVEL = "2"}
# why = "TerminateOnNaN ends the fit; the script goes on as if nothing had happened"
# ///
"""A learning rate too high: TerminateOnNaN ends the fit and the script goes on."""

import keras
import numpy as np

keras.utils.set_random_seed(2)
x = np.random.normal(0, 10, (2000, 8)).astype("float32")
y = x.sum(1) ** 2
model = keras.Sequential(
    [
        keras.Input((8,)),
        keras.layers.Dense(64, "leaky_relu"),
        keras.layers.Dense(64, "leaky_relu"),
        keras.layers.Dense(1),
    ]
)
model.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse")
model.fit(x, y, epochs=10, batch_size=100, callbacks=[keras.callbacks.TerminateOnNaN()])
model.save("regressor.keras")
print("model written to regressor.keras")
