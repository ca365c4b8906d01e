# /// case
# cause = "none"
# paper_class = ""
# exit_code = 0
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# why = "the loss becomes nan in the range test, as it should; the training after it is healthy"
# ///
"""The learning rate range test runs into nan on purpose, and the training after it is healthy."""

import keras
import numpy as np


class RangeTest(keras.callbacks.Callback):
    def __init__(self, low=1e-4, factor=3.0):
        super().__init__()
        self.rate, self.factor, self.seen = low, factor, []

    def on_train_batch_begin(self, batch, logs=None):
        self.model.optimizer.learning_rate = self.rate

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append((self.rate, logs["loss"]))
        print(f"lr {self.rate:.1e} loss {logs['loss']:.4f}")
        self.rate *= self.factor
        if not np.isfinite(logs["loss"]):
            print("loss is not finite, stopping the range test")
            self.model.stop_training = True


def build():
    layers = [keras.Input((8,)), keras.layers.Dense(16), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.SGD(0.0, momentum=0.9), "mse")
    return model


keras.utils.set_random_seed(12)
x = np.random.rand(900, 8).astype("float32")
y = x.sum(1)
model = build()
start = model.get_weights()
test = RangeTest()
model.fit(x, y, batch_size=10, epochs=1, verbose=0, callbacks=[test])
best = min((loss, rate) for rate, loss in test.seen if np.isfinite(loss))[1] / 10
print(f"chosen learning rate {best:.2e}")
model = build()
model.set_weights(start)
model.optimizer.learning_rate = best
model.fit(x, y, batch_size=30, epochs=6, validation_split=0.2, verbose=2)
model.save_weights("final.weights.h5")
