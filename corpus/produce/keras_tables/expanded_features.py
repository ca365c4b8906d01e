# /// case
# cause = "host_oom"
# exit_code = 1
# command = "bash -c 'ulimit -v 8000000; python {program}'"
# environment = "jax"
# env = { KERAS_BACKEND = "jax" }
# why = "numpy's allocation fails in the preprocessing of Keras"
# ///
"""Crossed features are made one-hot before the fit, and the table does not fit into the memory limit."""

import keras
import numpy as np

rng = np.random.default_rng(0)
rows = 40_000
a, b = rng.integers(0, 700, (2, rows))
y = ((a + b) % 2).astype("float32")
for name, codes, classes in (("a", a, 700), ("b", b, 700), ("a_x_b", a * 700 + b, 490_000)):
    print(f"encoding {name} with {classes} classes", flush=True)
    x = keras.utils.to_categorical(codes, classes)
    model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
    model.compile("sgd", "binary_crossentropy")
    history = model.fit(x, y, epochs=1, batch_size=2000, verbose=0)
    print(f"{name}: loss {history.history['loss'][0]:.4f}", flush=True)
