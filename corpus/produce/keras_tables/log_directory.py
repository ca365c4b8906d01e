# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# environment = "jax"
# env = { TF_CPP_MIN_LOG_LEVEL = "1" }
# needs = ["root"]
# why = "TensorFlow words a folder without write permission as a PermissionDeniedError"
# ///
"""TensorFlow's summary writer may not create its file."""

import os

import tensorflow as tf

os.makedirs("summaries")
os.chmod("summaries", 0o555)
writer = tf.summary.create_file_writer("summaries/run1")
w = tf.Variable(tf.zeros(4))
for step in tf.range(40, dtype=tf.int64):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(w - tf.range(4.0)))
    w.assign_sub(0.2 * tape.gradient(loss, w))
    if step % 10 == 0:
        tf.print("step", step, "loss", loss)
        with writer.as_default(step=step):
            tf.summary.scalar("loss", loss)
        writer.flush()
