# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "the checkpoint is of another optimizer: its tree does not fit"
# ///
"""The state is restored into that of another optimizer."""

from pathlib import Path

import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp


def new_state(tx, width=16):
    params = {"dense": {"kernel": jnp.ones((4, width)), "bias": jnp.zeros(width)}}
    return {"params": params, "opt_state": tx.init(params)}


path = Path.cwd() / "run" / "state"
checkpointer = ocp.StandardCheckpointer()
state = new_state(optax.sgd(0.1, momentum=0.9))
print("saving", jax.tree.structure(state).num_leaves, "leaves")
checkpointer.save(path, state)
checkpointer.wait_until_finished()
target = new_state(optax.adamw(1e-3))
print("restoring into", jax.tree.structure(target).num_leaves, "leaves")
state = checkpointer.restore(path, target)
print("restored, training goes on")
