# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "1"}
# why = "a training record is cut off: DataLossError of TensorFlow"
# ///
"""The second shard of the records was cut off."""

import os

import keras
import tensorflow as tf


def write(path, count):
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(count):
            feature = {
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=[i / count] * 8)),
                "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[i % 2])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())


def parse(record):
    spec = {"x": tf.io.FixedLenFeature([8], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}
    example = tf.io.parse_single_example(record, spec)
    return example["x"], example["y"]


for shard in range(3):
    write(f"train-{shard:05d}-of-00003.tfrecord", 200)
os.truncate("train-00001-of-00003.tfrecord", 6_003)
files = sorted(tf.io.gfile.glob("train-*.tfrecord"))
print(files)
data = tf.data.TFRecordDataset(files).map(parse).batch(20)
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1, "sigmoid")])
model.compile("adam", "binary_crossentropy")
model.fit(data, epochs=2, verbose=2)
