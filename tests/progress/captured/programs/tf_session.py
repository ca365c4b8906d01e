# mypy: ignore-errors
"""TensorFlow's MonitoredTrainingSession with the hooks that its estimators use."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--output", default="out")
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--rate", type=float, default=0.05)
parser.add_argument("--guard", action="store_true", help="NanTensorHook")
options = parser.parse_args()

v1 = tf.compat.v1
v1.disable_eager_execution()
v1.logging.set_verbosity(v1.logging.INFO)
v1.set_random_seed(0)
features = tf.constant(np.random.default_rng(0).normal(size=(64, 8)).astype("float32"))
weights = v1.get_variable("weights", [8, 1], initializer=v1.zeros_initializer())
target = tf.reduce_sum(features, 1, keepdims=True)
loss = tf.reduce_mean(tf.square(tf.matmul(features, weights) - target))
step = v1.train.get_or_create_global_step()
train = v1.train.GradientDescentOptimizer(options.rate).minimize(loss, global_step=step)
hooks = [
    v1.train.LoggingTensorHook({"loss": loss, "step": step}, every_n_iter=20),
    v1.train.StopAtStepHook(last_step=options.steps),
]
if options.guard:
    hooks.append(v1.train.NanTensorHook(loss, fail_on_nan_loss=False))
with v1.train.MonitoredTrainingSession(
    checkpoint_dir=options.output,
    save_checkpoint_steps=100,
    log_step_count_steps=50,
    hooks=hooks,
) as session:
    while not session.should_stop():
        session.run(train)
