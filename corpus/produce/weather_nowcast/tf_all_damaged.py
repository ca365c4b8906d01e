# /// case
# cause = "data"
# exit_code = 1
# environment = "jax"
# paper_class = "traceback"
# ///
"""No record can be parsed, so that nothing is left to train on."""

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
    for i in range(8):
        writer.write(b"damaged" * (i + 1))


def parse(record):
    return tf.ensure_shape(tf.io.decode_raw(record, tf.uint8), [100])


data = tf.data.TFRecordDataset("radar.tfrecord").map(parse)
try:
    print(sum(1 for _ in data), "records")
except tf.errors.InvalidArgumentError:
    traceback.print_exc()
    print("leaving out what cannot be parsed", flush=True)
frames = [x.numpy() for x in data.ignore_errors()]
if not frames:
    raise ValueError("radar.tfrecord: no usable record")
