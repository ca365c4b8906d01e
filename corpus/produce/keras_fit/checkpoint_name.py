# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# why = "a callback's setting is invalid"
# ///
"""The checkpoint callback is given a file name that Keras 3 does not accept."""

import keras
import numpy as np
import yaml

SETTINGS = """
optimizer: rmsprop
epochs: 8
checkpoint:
  path: best_{epoch:02d}.ckpt
  monitor: val_loss
  save_best_only: true
"""

settings = yaml.safe_load(SETTINGS)
print(yaml.dump(settings))
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(12, "relu"), keras.layers.Dense(1)])
model.compile(settings["optimizer"], "mae")
options = settings["checkpoint"]
callbacks = [
    keras.callbacks.ModelCheckpoint(
        options["path"], monitor=options["monitor"], save_best_only=options["save_best_only"]
    ),
    keras.callbacks.EarlyStopping(patience=3),
]
x = np.random.rand(80, 6)
model.fit(x, x.sum(1), epochs=settings["epochs"], validation_split=0.25, callbacks=callbacks)
