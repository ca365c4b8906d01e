# /// case
# cause = "traceback"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "2"}
# why = "the KeyError of the program's function comes wrapped in TensorFlow's own error"
# ///
"""A Python function in the pipeline looks a token up in a table without an entry for unknowns."""

import keras
import numpy as np
import tensorflow as tf

VOCABULARY = {word: i for i, word in enumerate("the a cat dog sat ran on mat fast home".split())}
lines = ["the cat sat on the mat", "a dog ran home", "the dog sat", "a cat ran fast away"] * 12


def encode(line):
    words = line.numpy().decode().split()
    vector = np.zeros(len(VOCABULARY), np.float32)
    for word in words:
        vector[VOCABULARY[word]] += 1
    return vector


def prepare(line, label):
    vector = tf.py_function(encode, [line], tf.float32)
    vector.set_shape([len(VOCABULARY)])
    return vector, label


labels = [i % 2 for i in range(len(lines))]
data = tf.data.Dataset.from_tensor_slices((lines, labels)).map(prepare).batch(8)
model = keras.Sequential([keras.Input((len(VOCABULARY),)), keras.layers.Dense(1, "sigmoid")])
model.compile("adam", "binary_crossentropy")
model.fit(data, epochs=2)
