# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# ///
"""The bottleneck is wider than the next weight matrix expects."""

import tensorflow as tf

tf.random.set_seed(0)


class Encoder(tf.Module):
    def __init__(self, widths):
        super().__init__()
        self.kernels = [tf.Variable(tf.random.normal(shape) * 0.1) for shape in widths]

    def __call__(self, x):
        for kernel in self.kernels[:-1]:
            x = tf.nn.relu(tf.matmul(x, kernel))
        return tf.matmul(x, self.kernels[-1])


print("Physical devices:", tf.config.list_physical_devices())
model = Encoder([(30, 16), (12, 30)])
for step in range(20):
    batch = tf.random.uniform((64, 30))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(batch) - batch) ** 2)
    for variable, grad in zip(
        model.trainable_variables, tape.gradient(loss, model.trainable_variables)
    ):
        variable.assign_sub(0.1 * grad)
    tf.print("step", step, "loss", loss)
