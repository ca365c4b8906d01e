# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "XLA cannot compile the function"
# ///
"""A step with a string operation is compiled with XLA, which does not know it."""

import tensorflow as tf

weights = tf.Variable(tf.random.normal((5,)))


@tf.function(jit_compile=True)
def train_step(lines):
    table = tf.strings.to_number(tf.strings.split(lines, ",").to_tensor("0"))
    x, y = table[:, :5], table[:, 5]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.linalg.matvec(x, weights) - y) ** 2)
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


lines = tf.constant([",".join(str(i * k % 7) for k in range(6)) for i in range(32)])
for step in range(10):
    print("step", step, "loss", float(train_step(lines)))
