# /// case
# cause = "traceback"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "3"}
# why = "OperatorNotAllowedInGraphError, a TypeError about the program's control flow"
# ///
"""A graph function iterates over a tensor in a way that a graph does not allow."""

import tensorflow as tf


@tf.function(autograph=False)
def clipped_step(w, x, y, limit):
    with tf.GradientTape() as tape:
        tape.watch(w)
        loss = tf.reduce_mean((x @ w - y) ** 2)
    grad = tape.gradient(loss, w)
    norm = tf.norm(grad)
    if norm > limit:
        grad = grad * limit / norm
    return w - 0.1 * grad, loss


w = tf.zeros((3, 1))
x = tf.random.normal((40, 3))
for step in range(10):
    w, loss = clipped_step(w, x, x[:, :1], 1.0)
    print(step, float(loss))
