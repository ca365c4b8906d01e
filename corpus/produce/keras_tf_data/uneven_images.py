# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "2"}
# why = "examples that cannot be batched"
# ///
"""One image is smaller than the others and cannot be batched with them."""

import keras
import numpy as np
import tensorflow as tf

sizes = [(28, 28)] * 70 + [(27, 28)] + [(28, 28)] * 25


def images():
    for i, size in enumerate(sizes):
        yield np.full((*size, 1), i / 96, dtype="float32"), i % 3


spec = (tf.TensorSpec((None, None, 1), tf.float32), tf.TensorSpec((), tf.int32))
data = tf.data.Dataset.from_generator(images, output_signature=spec).batch(16).prefetch(2)
model = keras.Sequential(
    [
        keras.Input((None, None, 1)),
        keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(3),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(data, epochs=2)
