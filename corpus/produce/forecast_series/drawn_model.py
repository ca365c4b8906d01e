# /// case
# cause = "missing_module"
# exit_code = 1
# environment = "jax"
# env = { KERAS_BACKEND = "jax" }
# why = "the drawing of the model for the report needs pydot, which is not installed; the fit itself was done"
# ///
"""After the fit the report wants a picture of the model, for which pydot is not installed."""

import json
import warnings

import keras
import numpy as np

warnings.warn("no GPU found, training will be slow", RuntimeWarning, stacklevel=1)
keras.utils.set_random_seed(3)


def demand(n=700):
    t = np.arange(n)
    wave = 10 + 3 * np.sin(t / 24 * 2 * np.pi) + np.random.normal(0, 0.3, n)
    return ((wave - wave.mean()) / wave.std()).astype("float32")


def build(width, horizon):
    past = keras.Input((width, 1), name="past")
    h = keras.layers.Conv1D(12, 5, padding="causal", activation="relu")(past)
    h = keras.layers.Conv1D(12, 5, padding="causal", dilation_rate=4, activation="relu")(h)
    quantiles = keras.layers.Dense(3 * horizon)(h[:, -1])
    return keras.Model(past, keras.layers.Reshape((horizon, 3))(quantiles), name="tcn")


def pinball(y, q):
    taus = np.array([0.1, 0.5, 0.9], dtype="float32")
    error = y[..., None] - q
    return keras.ops.mean(keras.ops.maximum(taus * error, (taus - 1) * error))


def report(model, history):
    with open("report.json", "w") as file:
        json.dump({"loss": history.history["loss"], "parameters": model.count_params()}, file)
    keras.utils.plot_model(model, "report.png", show_shapes=True)
    print("report.json and report.png written")


series = demand()
x = np.stack([series[i : i + 48] for i in range(640)])[..., None]
y = np.stack([series[i + 48 : i + 54] for i in range(640)])
model = build(48, 6)
model.compile(keras.optimizers.Adam(3e-3), pinball)
history = model.fit(x, y, epochs=4, batch_size=64, validation_split=0.2, verbose=2)
report(model, history)
