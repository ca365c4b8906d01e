# /// case
# cause = "dependency"
# paper_class = "missing_module"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "3"}
# why = "a module of Keras 2 that Keras 3 no longer has: the installed package does not fit the program"
# ///
"""The program is written for Keras 2: its image generator is gone in Keras 3."""

import numpy as np
import tensorflow as tf

print("TensorFlow", tf.__version__, "Keras", tf.keras.__version__)
from keras.preprocessing.image import ImageDataGenerator  # noqa: E402

generator = ImageDataGenerator(rescale=1 / 255, rotation_range=10)
flow = generator.flow(np.random.rand(32, 16, 16, 3), np.random.randint(0, 2, 32), batch_size=8)
model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit_generator(flow, epochs=2)
