# /// case
# cause = "div_zero"
# exit_code = 1
# environment = "jax"
# why = "the log does not say why the count of shards is zero"
# ///
"""The rows of one shard are worked out with an integer division by the number of shards of the split."""

import collections

import jax
import jax.numpy as jnp
from absl import app, flags, logging

FLAGS = flags.FLAGS
flags.DEFINE_integer("rows", 9600, "rows of the training split")
Split = collections.namedtuple("Split", "name shards")


def plan(split):
    return FLAGS.rows // split.shards


def main(_):
    logging.set_verbosity(logging.INFO)
    w = jnp.zeros(8)
    grad = jax.jit(jax.grad(lambda w, x: jnp.mean((x @ w - 1) ** 2)))
    for split in (Split("train", 8), Split("train_extra", 16), Split("holdout", 0)):
        rows = plan(split)
        x = jax.random.normal(jax.random.key(rows), (rows, 8))
        w = w - 0.1 * grad(w, x)
        logging.info("%s: %d rows per shard, |w| %.4f", split.name, rows, jnp.linalg.norm(w))


app.run(main)
