"""A training by TensorFlow of the workers of TF_CONFIG, in which worker 1 stops taking part.

Its argument is the mode.  Each worker prints a line when it has taken three steps with the others.
"""

import json
import os
import sys

import tensorflow as tf

from tests.stacks import hanging_modes

strategy = tf.distribute.MultiWorkerMirroredStrategy()


def add(values: tf.Tensor) -> tf.Tensor:
    """Return the sum of the values of all workers."""
    return strategy.reduce("sum", strategy.run(tf.reduce_sum, (values,)), axis=None)


total = tf.function(add)


def train(mode: str, rank: int) -> None:
    """Take steps until worker 1 does something else."""
    for step in range(1000):
        if step == 3:
            print("ready", rank, flush=True)
            if rank == 1:
                getattr(hanging_modes, mode)()
        float(total(tf.ones(2)))


train(sys.argv[1], json.loads(os.environ["TF_CONFIG"])["task"]["index"])
