# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = { KERAS_BACKEND = "jax" }
# ///
"""The second input of the model gets a table with one column too many after the merge."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
user, item = keras.Input((4,), name="user"), keras.Input((3,), name="item")
joined = keras.layers.Concatenate()([keras.layers.Dense(8)(user), keras.layers.Dense(8)(item)])
model = keras.Model([user, item], keras.layers.Dense(1)(joined))
model.compile("rmsprop", "mse")
rng = np.random.default_rng(0)
for month, columns in (("january", 3), ("february", 3), ("march", 4)):
    a, b = rng.normal(size=(64, 4)), rng.normal(size=(64, columns))
    history = model.fit([a, b], a.sum(1) + b.sum(1), epochs=2, verbose=0)
    print(f"{month}: loss {history.history['loss'][-1]:.4f}", flush=True)
