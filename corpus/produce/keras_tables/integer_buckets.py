# /// case
# cause = "div_zero"
# exit_code = 1
# environment = "jax"
# env = { TF_CPP_MIN_LOG_LEVEL = "2" }
# why = "TensorFlow words it as InvalidArgumentError: Integer division by zero"
# ///
"""Integer division of two columns inside of a tf.data pipeline meets a zero."""

import tensorflow as tf

rows = 600
seconds = tf.random.stateless_uniform([rows], seed=(1, 2), maxval=9000, dtype=tf.int32)
sessions = tf.concat([tf.random.stateless_uniform([rows - 9], (3, 4), 1, 9, tf.int32), [0] * 9], 0)


def per_session(seconds, sessions):
    return tf.cast(seconds // sessions, tf.float32)


pipeline = tf.data.Dataset.from_tensor_slices((seconds, sessions)).map(per_session).batch(60)
mean = tf.keras.metrics.Mean()
for number, batch in enumerate(pipeline):
    mean.update_state(batch)
    tf.print("batch", number, "mean seconds per session", mean.result())
