# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "tensorflow", TF_ENABLE_ONEDNN_OPTS = "0"}
# why = "lr and decay were arguments of Keras 2's optimizers: API changed between versions"
# ///
"""The optimizer is built with arguments that Keras 3 has dropped."""

import keras
import numpy as np

INIT_LR = 1e-3
EPOCHS = 25
BS = 32

print("[INFO] loading data...")
data = np.random.rand(200, 24).astype("float32")
labels = keras.utils.to_categorical(np.random.randint(0, 4, 200), 4)
print("[INFO] compiling model...")
model = keras.Sequential()
model.add(keras.layers.Dense(32, input_shape=(24,), activation="relu"))
model.add(keras.layers.Dense(4, activation="softmax"))
opt = keras.optimizers.Adam(lr=INIT_LR, decay=INIT_LR / EPOCHS)
model.compile(loss="categorical_crossentropy", optimizer=opt, metrics=["accuracy"])
print("[INFO] training network...")
model.fit(data, labels, batch_size=BS, epochs=EPOCHS, verbose=1)
