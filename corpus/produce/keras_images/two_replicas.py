# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# env = {KERAS_BACKEND = "tensorflow"}
# why = "start-up notices about GPUs, unreadable pictures that are skipped, a learning rate that is reduced, and a saved model"
# ///
"""A small classifier is trained on two logical devices; the log has many errors, none of which matters."""

import logging

import keras
import numpy as np
import tensorflow as tf

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
log = logging.getLogger("defects")
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
log.info("replicas in sync: %d", strategy.num_replicas_in_sync)
rng = np.random.default_rng(8)
images, labels = [], []
for index in range(120):
    try:
        png = tf.io.encode_png(rng.integers(0, 256, (8, 8, 1)).astype("uint8")).numpy()
        picture = tf.io.decode_png(png[:30] if index % 50 == 7 else png).numpy()
    except tf.errors.InvalidArgumentError as error:
        log.error("defect_%04d.png is corrupt and skipped: %s", index, error.message.split("\n")[0])
        continue
    picture[: 2 + index % 2] //= 1 + 3 * (index % 2)
    images.append(picture / 255.0)
    labels.append(index % 2)
with strategy.scope():
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), keras.losses.BinaryCrossentropy(from_logits=True))
stop = keras.callbacks.EarlyStopping("val_loss", patience=2)
data = tf.data.Dataset.from_tensor_slices((np.stack(images), np.array(labels)[:, None])).batch(16)
history = model.fit(data, epochs=6, verbose=2, callbacks=[stop])
model.save("defects.keras")
log.info("failure detector saved, loss %.3f -> %.3f", *np.array(history.history["loss"])[[0, -1]])
