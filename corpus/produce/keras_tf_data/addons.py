# /// case
# cause = "missing_module"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "0", CUDA_VISIBLE_DEVICES = ""}
# ///
"""The data come from tensorflow_datasets, which is not installed."""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import tensorflow as tf

print("TensorFlow version:", tf.__version__)
print("Keras backend:", keras.backend.backend())
AUTOTUNE = tf.data.AUTOTUNE


def load(name, batch):
    import tensorflow_datasets as tfds

    data, info = tfds.load(name, split="train", as_supervised=True, with_info=True)
    return data.map(lambda x, y: (tf.cast(x, tf.float32) / 255, y)).batch(batch).prefetch(AUTOTUNE)


train = load("mnist", 128)
model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(train, epochs=6)
