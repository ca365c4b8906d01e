# /// case
# cause = "device_mismatch"
# exit_code = 1
# environment = "jax"
# env = { TF_CPP_MIN_LOG_LEVEL = "2" }
# why = "a variable lives on another device than the operation that is pinned to its own"
# ///
"""A table lives on one logical device and is looked up by an operation that is compiled for another."""

import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
print([device.name for device in tf.config.list_logical_devices()])
with tf.device("CPU:1"):
    table = tf.Variable(tf.random.normal([50, 4]))
with tf.device("CPU:0"):
    head = tf.Variable(tf.random.normal([4, 1]))


@tf.function(jit_compile=True)
def score(ids):
    return tf.gather(table, ids) @ head


for batch in range(3):
    ids = tf.random.uniform([8], maxval=50, dtype=tf.int32)
    print("batch", batch, float(tf.reduce_mean(tf.gather(table, ids) @ head)))
print("compiled", float(tf.reduce_mean(score(ids))))
