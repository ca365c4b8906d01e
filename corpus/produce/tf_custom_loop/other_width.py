# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "2"}
# why = "the checkpoint is of another shape than the model"
# ///
"""The embedding grew since the checkpoint was written."""

import tensorflow as tf


class Recommender(tf.Module):
    def __init__(self, users, dim=8):
        super().__init__()
        self.users = tf.Variable(tf.random.normal((users, dim)), name="users")
        self.bias = tf.Variable(tf.zeros(users), name="bias")


first = Recommender(1000)
manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=first), "ckpt", max_to_keep=2)
for step in range(3):
    print("saved", manager.save().split("/")[-1])
second = Recommender(1200)
checkpoint = tf.train.Checkpoint(model=second)
latest = tf.train.latest_checkpoint("ckpt")
print("restoring", latest)
checkpoint.restore(latest).assert_consumed()
print("restored")
