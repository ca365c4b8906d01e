# /// case
# cause = "none"
# paper_class = ""
# exit_code = 0
# environment = "jax"
# env = {KERAS_BACKEND = "tensorflow", CUDA_VISIBLE_DEVICES = "-1"}
# why = "a healthy run with start-up notices, warnings about unmet conditions and early stopping"
# ///
"""A healthy run: start-up notices, callbacks that complain, early stopping, h5 warning."""

import keras
import numpy as np
import tensorflow as tf

print("Num GPUs Available:", len(tf.config.list_physical_devices("GPU")))
keras.utils.set_random_seed(6)
x = np.random.rand(800, 10).astype("float32")
y = x @ np.arange(10) + 0.3 * np.random.randn(800)
model = keras.Sequential([keras.layers.Dense(16, "relu", input_shape=(10,)), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.02), "mse", metrics=["mae"])
model.fit(
    x,
    y,
    validation_split=0.2,
    epochs=25,
    batch_size=40,
    verbose=2,
    callbacks=[
        keras.callbacks.EarlyStopping(
            patience=2, min_delta=0.1, restore_best_weights=True, verbose=1
        ),
        keras.callbacks.ModelCheckpoint(
            "best.keras", monitor="val_acc", mode="max", save_best_only=True
        ),
        keras.callbacks.TerminateOnNaN(),
    ],
)
model.save("final.h5")
tf.get_logger().error("summary writer: no handler for 'failed to flush', ignored")
print("test mse %.4f mae %.4f" % tuple(model.evaluate(x[640:], y[640:], verbose=0)))
