# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# command = "python {program} --batch-size 18"
# env = {KERAS_BACKEND = "jax", XLA_FLAGS = "--xla_force_host_platform_device_count=4"}
# why = "the batch size that was asked for cannot be divided among the devices"
# ///
"""Data parallelism over four devices with a batch size that four does not divide."""

import argparse

import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=16)
args = parser.parse_args()
devices = keras.distribution.list_devices("cpu")
print(f"{len(devices)} devices: {devices}, batch size {args.batch_size}", flush=True)
keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))

rng = np.random.default_rng(2)
images = rng.random((180, 10, 10, 1), dtype="float32")
model = keras.Sequential(
    [
        keras.Input((10, 10, 1)),
        keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.GlobalMaxPooling2D(),
        keras.layers.Dense(3),
    ]
)
model.summary(line_length=72)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(images, rng.integers(0, 3, 180), epochs=2, batch_size=args.batch_size)
