# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "the checkpoint is of another shape than the model"
# ///
"""The vocabulary was enlarged after the checkpoint was written."""

import argparse
import logging
from pathlib import Path

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
from flax import nnx

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s [%(name)s] %(message)s")
log = logging.getLogger("finetune")


class Lm(nnx.Module):
    def __init__(self, vocab, rngs):
        self.embed = nnx.Embed(vocab, 16, rngs=rngs)
        self.head = nnx.Linear(16, vocab, rngs=rngs)


def state_of(vocab):
    return nnx.state(Lm(vocab, nnx.Rngs(0)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", type=int, default=160)
    args = parser.parse_args()
    path = Path("base-lm").absolute()
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, state_of(128))
    log.info("base model written to %s", path.name)
    abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, state_of(args.vocab))
    with ocp.StandardCheckpointer() as checkpointer:
        state = checkpointer.restore(path, abstract)
    log.info("restored %d arrays, sum %s", len(jax.tree.leaves(state)), jnp.zeros(()))
