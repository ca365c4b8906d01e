# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "tensorflow"}
# ///
"""The images are flattened to 784 while the model was built for 28 by 28."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        layers.Conv2D(8, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(10, activation="softmax"),
    ]
)
model.summary()
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
x = np.random.rand(512, 784).astype("float32")
y = np.random.randint(0, 10, 512)
history = model.fit(x, y, batch_size=64, epochs=3, validation_split=0.1)
print(history.history)
