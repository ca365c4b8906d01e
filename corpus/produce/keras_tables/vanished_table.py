# /// case
# cause = "filesystem_io"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = { KERAS_BACKEND = "jax" }
# why = "reading fails with an input/output error of the file system"
# ///
"""The table is read from a source that answers with an input/output error."""

import keras
import numpy as np


def read(path, offset, count):
    with open(path, "rb", buffering=0) as file:
        file.seek(offset)
        return np.frombuffer(file.read(count), dtype=np.uint8).astype("float32") / 255


np.arange(4096, dtype=np.uint8).tofile("table.bin")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
for part, path in enumerate(["table.bin", "table.bin", "/proc/self/mem"]):
    x = read(path, 256 * part if part < 2 else 8, 512).reshape(-1, 8)
    loss = model.train_on_batch(x, x.mean(1))
    print(f"part {part}: loss {float(loss):.5f}", flush=True)
