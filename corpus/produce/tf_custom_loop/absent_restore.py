# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "0"}
# why = "the checkpoint to restore is absent; TensorFlow's own NotFoundError"
# ///
"""The checkpoint prefix to restore matches no file."""

import os

import tensorflow as tf
from absl import app, flags, logging

FLAGS = flags.FLAGS
flags.DEFINE_string("init_checkpoint", "pretrained/ckpt-250000", "Checkpoint prefix.")


def main(_):
    logging.info("tf %s", tf.__version__)
    step = tf.Variable(0, dtype=tf.int64)
    kernel = tf.Variable(tf.zeros((8, 8)))
    os.makedirs("pretrained")
    tf.train.Checkpoint(kernel=kernel).write("pretrained/ckpt-200000")
    logging.info("found %s", sorted(os.listdir("pretrained")))
    checkpoint = tf.train.Checkpoint(kernel=kernel, step=step)
    checkpoint.read(FLAGS.init_checkpoint).expect_partial()
    logging.info("restored step %d", step)


app.run(main)
