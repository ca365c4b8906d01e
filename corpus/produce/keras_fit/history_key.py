# /// case
# cause = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "tensorflow", TF_CPP_MIN_LOG_LEVEL = "3"}
# ///
"""After the training the report reads the history under the name of older versions."""

import keras
import numpy as np

keras.utils.set_random_seed(5)
x = np.random.rand(400, 12)
y = (x.sum(1) > 6).astype(int)
model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(1, "sigmoid")])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, epochs=3, validation_split=0.2, verbose=2)
report = [
    f"{epoch:>3}  {loss:.4f}  {acc:.3f}"
    for epoch, (loss, acc) in enumerate(
        zip(history.history["val_loss"], history.history["val_acc"])
    )
]
print("\n".join(report))
