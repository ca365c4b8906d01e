# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# why = "a ValueError of the loss about target and output shapes"
# ///
"""One-hot loss with integer targets, on the JAX backend."""

import keras
import numpy as np

print("keras", keras.__version__, "backend", keras.backend.backend())
keras.utils.set_random_seed(1)
inputs = keras.Input((20,), name="features")
hidden = keras.layers.Dense(32, "relu", name="hidden")(inputs)
outputs = keras.layers.Dense(5, "softmax", name="class")(hidden)
model = keras.Model(inputs, outputs, name="classifier")
model.compile(keras.optimizers.AdamW(1e-3), keras.losses.CategoricalCrossentropy())
x = np.random.normal(size=(300, 20))
labels = np.random.randint(0, 5, size=300)
model.fit(x, labels, epochs=2, batch_size=30, verbose=2)
