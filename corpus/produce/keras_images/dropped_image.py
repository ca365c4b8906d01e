# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "tensorflow"}
# why = "blank pictures were left out of one of the two arrays, so that pictures and labels do not belong together"
# ///
"""Blank pictures are left out of the images and stay in the labels."""

import logging

import keras
import numpy as np

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(name)s: %(message)s")
log = logging.getLogger("plankton")
rng = np.random.default_rng(3)
np.savez(
    "train.npz",
    images=rng.random((200, 8, 8)) * (rng.random((200, 1, 1)) > 0.02),
    labels=np.arange(200) % 3,
)
np.savez("val.npz", images=rng.random((40, 8, 8)), labels=np.arange(40) % 3)


def load(split):
    with np.load(f"{split}.npz") as archive:
        images, labels = archive["images"], archive["labels"]
    blank = images.max((1, 2)) == 0
    if blank.any():
        log.warning("%s: %d blank images dropped", split, blank.sum())
        images = images[~blank]
    return images[..., None].astype("float32"), labels


x, y = load("train")
val = load("val")
model = keras.Sequential(
    [keras.layers.Conv2D(6, 3), keras.layers.Flatten(), keras.layers.Dense(3, "softmax")]
)
model.compile("rmsprop", "sparse_categorical_crossentropy", metrics=["accuracy"])
log.info("training")
model.fit(x, y, validation_data=val, epochs=3, verbose=2)
