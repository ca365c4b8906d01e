# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "tensorflow", TF_CPP_MIN_LOG_LEVEL = "1"}
# ///
"""The .keras archive to go on from was cut off while it was copied."""

import logging
from pathlib import Path

import keras
import numpy as np

logging.basicConfig(format="%(asctime)s - %(message)s", level=logging.INFO)


def build():
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(64), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model


def copy_partly(source, target):
    data = Path(source).read_bytes()
    Path(target).write_bytes(data[: len(data) // 2])


x, y = np.random.rand(100, 10), np.random.rand(100)
first = build()
first.fit(x, y, epochs=1, verbose=0)
first.save("stage1.keras")
copy_partly("stage1.keras", "resume.keras")
logging.info("resuming from resume.keras (%d bytes)", Path("resume.keras").stat().st_size)
model = keras.models.load_model("resume.keras")
model.fit(x, y, epochs=2)
