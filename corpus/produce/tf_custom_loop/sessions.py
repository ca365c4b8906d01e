# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "2"}
# why = "the program is written for TensorFlow 1, whose placeholder was removed"
# ///
"""A program for TensorFlow 1 runs on TensorFlow 2."""

import numpy as np
import tensorflow as tf

learning_rate = 0.01
training_epochs = 1000
display_step = 50

train_X = np.linspace(0, 10, 17)
train_Y = 1.7 * train_X + np.random.randn(17)
print("samples:", train_X.shape[0])

X = tf.placeholder("float")
Y = tf.placeholder("float")
W = tf.Variable(np.random.randn(), name="weight")
cost = tf.reduce_sum(tf.pow(X * W - Y, 2)) / (2 * train_X.shape[0])
optimizer = tf.train.GradientDescentOptimizer(learning_rate).minimize(cost)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(training_epochs):
        sess.run(optimizer, feed_dict={X: train_X, Y: train_Y})
