# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "jax", HTTPS_PROXY = "http://127.0.0.1:9", https_proxy = "http://127.0.0.1:9"}
# why = "the host of the weights is not reached; that they are a model by name comes second"
# ///
"""The pretrained weights are to be downloaded and the proxy does not answer."""

import keras
import numpy as np

IMAGE_SIZE = 96
base = keras.applications.MobileNetV3Small(
    include_top=False, weights="imagenet", input_shape=(IMAGE_SIZE, IMAGE_SIZE, 3)
)
base.trainable = False
model = keras.Sequential([base, keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(5)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
x = np.random.rand(20, IMAGE_SIZE, IMAGE_SIZE, 3)
model.fit(x, np.random.randint(0, 5, 20), epochs=1)
