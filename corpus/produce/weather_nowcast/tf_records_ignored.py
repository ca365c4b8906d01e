# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# ///
"""Damaged records are left out by tf.data; the error of the strict pass is printed."""

import os
import sys
import traceback

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
import numpy as np


def radar(n=256, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.gamma(2.0, 1.0, size=(n, 24)).astype("float32")
    y = (x[:, -6:].mean(1, keepdims=True) * 0.8 + 0.1).astype("float32")
    return x, y


import tensorflow as tf

with tf.io.TFRecordWriter("radar.tfrecord") as writer:
    for i in range(64):
        x, y = radar(1, seed=i)
        writer.write(b"damaged" if i == 40 else x.tobytes() + y.tobytes())


def parse(record):
    values = tf.io.decode_raw(record, tf.float32)
    values = tf.ensure_shape(values, [25])
    return values[:24], values[24:]


strict = tf.data.TFRecordDataset("radar.tfrecord").map(parse).batch(16)
try:
    print(sum(1 for _ in strict), "batches")
except tf.errors.InvalidArgumentError:
    traceback.print_exc()
    print("leaving out what cannot be parsed", flush=True)
data = tf.data.TFRecordDataset("radar.tfrecord").map(parse).ignore_errors().batch(16)
w = tf.Variable(tf.zeros([24, 1]))
for epoch in range(4):
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w - y) ** 2)
        w.assign_sub(0.002 * tape.gradient(loss, w))
    print(f"epoch {epoch} loss {loss.numpy():.4f}", flush=True)
