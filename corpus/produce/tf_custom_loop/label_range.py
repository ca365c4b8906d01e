# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "1"}
# why = "a label outside the classes, seen on the CPU"
# ///
"""The labels count from one, the output layer has as many classes as there are names."""

import numpy as np
import tensorflow as tf

CLASSES = ["cat", "dog", "horse", "ship"]
rng = np.random.default_rng(0)
features = rng.normal(size=(320, 12)).astype("float32")
labels = np.sort(rng.integers(1, len(CLASSES) + 1, 320))
data = tf.data.Dataset.from_tensor_slices((features, labels)).batch(32)

kernel = tf.Variable(tf.zeros((12, len(CLASSES))))
bias = tf.Variable(tf.zeros(len(CLASSES)))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = x @ kernel + bias
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
    for variable, grad in zip((kernel, bias), tape.gradient(loss, (kernel, bias))):
        variable.assign_sub(0.05 * grad)
    return loss


for epoch in range(3):
    for i, (x, y) in enumerate(data):
        loss = train_step(x, y)
        print(f"Epoch {epoch} batch {i}: loss={loss.numpy():.4f}", flush=True)
