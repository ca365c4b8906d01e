# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# ///
"""A residual block halves the picture and adds the shortcut in full size."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)


def block(x, width, stride=1):
    shortcut = x
    x = layers.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    if shortcut.shape[-1] != width:
        shortcut = layers.Conv2D(width, 1, use_bias=False)(shortcut)
    return layers.ReLU()(layers.add([x, shortcut]))


def build(side, classes, widths):
    inputs = keras.Input((side, side, 3))
    x = layers.Rescaling(1 / 255)(inputs)
    x = layers.Conv2D(widths[0], 3, padding="same")(x)
    for stage, width in enumerate(widths):
        print(f"stage {stage}: {width} filters, input {x.shape}", flush=True)
        x = block(x, width, stride=1 if stage == 0 else 2)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(classes, activation="softmax")(x))


images = np.random.default_rng(0).integers(0, 256, (64, 28, 28, 3)).astype("uint8")
labels = np.arange(64) % 4
print("keras", keras.__version__, "on", keras.backend.backend(), "images", images.shape)
model = build(28, 4, widths=[8, 16, 32])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(images, labels, epochs=2, batch_size=16)
