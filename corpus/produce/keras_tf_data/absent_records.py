# /// case
# cause = "file_not_found"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "1"}
# command = "python {program} --train-file /mnt/datasets/clicks/train.tfrecord.gz"
# why = "TensorFlow's NotFoundError about a data file"
# ///
"""The file of the records is not there; found out in the input pipeline."""

import argparse

import keras
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--train-file", required=True)
parser.add_argument("--batch-size", type=int, default=128)
args = parser.parse_args()
data = (
    tf.data.TFRecordDataset(args.train_file, compression_type="GZIP")
    .map(lambda record: tf.ensure_shape(tf.io.decode_raw(record, tf.float32), (11,)))
    .map(lambda row: (row[1:], row[0]))
    .batch(args.batch_size)
)
model = keras.Sequential([keras.layers.Dense(16, "relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
print(f"training on {args.train_file}")
model.fit(data, epochs=5)
