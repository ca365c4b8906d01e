# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# why = "the weights file is of another shape than the model it is loaded into"
# ///
"""The weights of a narrower model are loaded before the fine-tuning."""

import keras
import numpy as np


def encoder(width):
    inputs = keras.Input((16,))
    x = keras.layers.Dense(width, "gelu")(inputs)
    x = keras.layers.LayerNormalization()(x)
    return keras.Model(inputs, keras.layers.Dense(3)(x))


keras.utils.set_random_seed(4)
pretrained = encoder(96)
pretrained.save_weights("pretrained.weights.h5")
print("pretrained parameters:", pretrained.count_params())

model = encoder(128)
model.load_weights("pretrained.weights.h5")
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(1e-4), loss)
model.fit(np.random.rand(60, 16), np.random.randint(0, 3, 60), epochs=2)
