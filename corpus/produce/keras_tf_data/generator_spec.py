# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "3"}
# why = "a line of the data has more values than the declared shape"
# ///
"""A line of the CSV file has one value too many for the generator's declared shape."""

import keras
import tensorflow as tf

with open("signals.csv", "w") as out:
    for i in range(60):
        print(*[(i * k) % 5 for k in range(7 if i == 41 else 6)], i % 2, sep=",", file=out)


def rows(path):
    for line in open(path):
        *values, label = line.strip().split(",")
        yield [float(value) for value in values], int(label)


data = tf.data.Dataset.from_generator(
    lambda: rows("signals.csv"),
    output_signature=(tf.TensorSpec((6,), tf.float32), tf.TensorSpec((), tf.int64)),
)
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(4, "relu"), keras.layers.Dense(2)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(data.batch(10), epochs=1, verbose=2)
