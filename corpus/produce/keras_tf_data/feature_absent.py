# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "0"}
# why = "the records have not the feature that the program parses: wrong columns"
# ///
"""Older records have no weight per example."""

import keras
import tensorflow as tf

KEYS = {
    "x": tf.io.FixedLenFeature([4], tf.float32),
    "label": tf.io.FixedLenFeature([], tf.float32),
    "sample_weight": tf.io.FixedLenFeature([], tf.float32),
}


def example(i, weighted):
    floats = {"x": [float(i)] * 4, "label": [float(i % 2)]}
    if weighted:
        floats["sample_weight"] = [0.5]
    feature = {
        key: tf.train.Feature(float_list=tf.train.FloatList(value=value))
        for key, value in floats.items()
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def parse(serialized):
    row = tf.io.parse_example(serialized, KEYS)
    return row["x"], row["label"], row["sample_weight"]


records = [example(i, weighted=i < 64) for i in range(96)]
data = tf.data.Dataset.from_tensor_slices(records).batch(16).map(parse)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "huber")
model.fit(data, epochs=3)
