# /// case
# cause = "none"
# paper_class = ""
# exit_code = 0
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "0"}
# why = "warnings about retracing, missing gradients and the end of a sequence, and a loss that falls"
# ///
"""A healthy run with retracing warnings, unused variables and 'Local rendezvous is aborting'."""

import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")
if not gpus:
    print("WARNING: no GPU found, training will be slow")
tf.random.set_seed(5)
w = tf.Variable(tf.zeros((6, 1)))
unused = tf.Variable(tf.zeros((2,)))


@tf.function
def evaluate(x, y, scale):
    return tf.reduce_mean((x @ w - y) ** 2) * scale


x = tf.random.normal((320, 6))
y = tf.reduce_sum(x, 1, keepdims=True)
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(320).batch(40)
for epoch in range(6):
    for bx, by in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((bx @ w - by) ** 2)
        grads = tape.gradient(loss, [w, unused])
        if grads[1] is None:
            if epoch == 0:
                print("WARNING:tensorflow:Gradients do not exist for variables ['unused']")
        w.assign_sub(0.05 * grads[0])
    rare = tf.reduce_mean(tf.boolean_mask(y, y > 50.0))
    print(f"epoch {epoch} val_loss {evaluate(x, y, 1.0 - epoch * 1e-9):.5f} rare {rare:.3f}")
iterator = iter(data.take(1))
next(iterator)
try:
    next(iterator)
except StopIteration:
    print("evaluation finished")
