# /// case
# cause = "nan_loss"
# paper_class = "nan_loss"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "2"}
# why = "check_numerics names the operation whose output is Inf or NaN"
# ///
"""The log of a probability that reached zero: check_numerics stops the training."""

import tensorflow as tf

tf.debugging.enable_check_numerics()
tf.random.set_seed(3)
w = tf.Variable(tf.zeros((4, 1)))
x = tf.random.normal((128, 4)) * 30
y = tf.cast(tf.reduce_sum(x, 1, keepdims=True) > 0, tf.float32)
for step in range(200):
    with tf.GradientTape() as tape:
        p = tf.sigmoid(x @ w)
        loss = -tf.reduce_mean(y * tf.math.log(p) + (1 - y) * tf.math.log(1 - p))
    w.assign_sub(0.02 * tape.gradient(loss, w))
    print(f"step {step} loss {loss.numpy():.5f}", flush=True)
