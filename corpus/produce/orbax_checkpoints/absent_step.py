# /// case
# cause = "checkpoint"
# paper_class = "file_not_found"
# exit_code = 1
# environment = "jax"
# why = "the step to restore was deleted by max_to_keep: the checkpoint is absent"
# ///
"""The step to restore was already removed, since only two are kept."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from absl import app, logging


def main(_):
    logging.set_verbosity(logging.INFO)
    options = ocp.CheckpointManagerOptions(max_to_keep=2, save_interval_steps=10)
    manager = ocp.CheckpointManager(Path.cwd() / "ckpts", options=options)
    state = {"w": jnp.zeros((8, 8)), "step": np.int64(0)}
    for step in range(0, 60, 10):
        state = {"w": state["w"] + 1.0, "step": np.int64(step)}
        manager.save(step, args=ocp.args.StandardSave(state))
    manager.wait_until_finished()
    logging.info("kept steps: %s", manager.all_steps())
    best = 20
    logging.info("restoring the best step %d", best)
    restored = manager.restore(best, args=ocp.args.StandardRestore(state))
    logging.info("restored %s", restored["step"])


app.run(main)
