# /// case
# cause = "cuda_environment"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "no GPU can be seen, the program places its variables on one"
# ///
"""The variables are placed on the first GPU with soft placement off, and there is none."""

import tensorflow as tf

tf.config.set_soft_device_placement(False)
print("tf", tf.__version__, "built with CUDA:", tf.test.is_built_with_cuda())
print("GPUs:", tf.config.list_physical_devices("GPU"))
with tf.device("/device:GPU:0"):
    kernel = tf.Variable(tf.random.normal((64, 64)))
for step in range(5):
    kernel.assign_add(kernel @ kernel * 1e-3)
    print(step, float(tf.reduce_mean(kernel)))
