# /// case
# cause = "dtype_mismatch"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "2"}
# ///
"""The features from numpy are float64, the weights are float32."""

import logging

import numpy as np
import tensorflow as tf

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(asctime)s] %(message)s")
kernel = tf.Variable(tf.random.normal((9, 3)), name="kernel")


def logits_of(x):
    return tf.linalg.matmul(x, kernel)


rng = np.random.default_rng(1)
train = rng.standard_normal((256, 9), dtype=np.float32)
evaluation = rng.standard_normal((64, 9))
for step in range(0, 256, 64):
    x = train[step : step + 64]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.softplus(-logits_of(x)))
    kernel.assign_sub(0.1 * tape.gradient(loss, kernel))
    logging.info("step %d loss %.4f", step // 64, loss)
try:
    accuracy = tf.reduce_mean(tf.cast(logits_of(evaluation) > 0, tf.float32))
    logging.info("accuracy %.3f", accuracy)
except Exception:
    logging.exception("evaluation failed")
    raise SystemExit(1)
