# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# env = { KERAS_BACKEND = "jax" }
# why = "the metric is nan for a class without examples and the worker warnings are harmless; the fit ends well"
# ///
"""A metric is nan in every epoch and a cache cannot be written; the loss falls and the model is saved."""

import sys

import keras
import numpy as np

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
x = rng.normal(size=(240, 8)).astype("float32")
y = (x[:, :3].argmax(1)).astype("int32")
model = keras.Sequential([keras.layers.Dense(24, activation="relu"), keras.layers.Dense(4)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
for epoch in range(5):
    history = model.fit(x, y, epochs=1, batch_size=40, verbose=0)
    guess = model.predict(x, verbose=0).argmax(1)
    with np.errstate(invalid="warn"):
        recall = [np.float64((guess[y == c] == c).sum()) / (y == c).sum() for c in range(4)]
    print(
        f"epoch {epoch} loss {history.history['loss'][0]:.4f} recall {np.round(recall, 3)}",
        flush=True,
    )
    try:
        with open("/nonexistent/cache/recall.npy", "wb") as out:
            np.save(out, recall)
    except OSError as error:
        print(f"warning: could not cache: {error!r}", file=sys.stderr)
model.save("classes.keras")
print("saved classes.keras")
