# /// case
# cause = "missing_module"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# ///
"""After the first epoch a callback writes generated pictures, for which Pillow is needed."""

import sys

import keras
import numpy as np
from keras import layers


class ContactSheet(keras.callbacks.Callback):
    """Write a picture of reconstructions at the end of each epoch."""

    def __init__(self, images, path="epoch_{epoch:02d}.png"):
        super().__init__()
        self.images, self.path = images, path

    def on_epoch_end(self, epoch, logs=None):
        pictures = np.clip(self.model.predict(self.images, verbose=0), 0, 1)
        sheet = np.concatenate(list(pictures), axis=1)
        keras.utils.save_img(self.path.format(epoch=epoch), sheet)


keras.utils.set_random_seed(4)
images = np.random.default_rng(4).random((120, 16, 16, 1), dtype="float32")
autoencoder = keras.Sequential(
    [
        keras.Input((16, 16, 1)),
        layers.Conv2D(4, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2DTranspose(1, 3, strides=2, padding="same", activation="sigmoid"),
    ]
)
autoencoder.compile("adam", "mse")
print("training the autoencoder on", len(images), "images", file=sys.stderr)
autoencoder.fit(images, images, epochs=3, batch_size=20, callbacks=[ContactSheet(images[:5])])
