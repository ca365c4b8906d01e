# /// case
# cause = "none"
# paper_class = ""
# exit_code = 0
# environment = "jax"
# why = "the run resumes from its last checkpoint and ends; the errors in between are retried"
# ///
"""A healthy run: a save fails once and is retried, the second stage resumes where the first ended."""

import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
from absl import logging

warnings.warn("NCCL_IB_DISABLE is set, RDMA errors can be ignored on this host", stacklevel=1)
logging.set_verbosity(logging.INFO)
logging.use_absl_handler()
root = Path.cwd() / "ckpt"
grad = jax.jit(jax.value_and_grad(lambda w, x: jnp.mean((x @ w - x[:, 0]) ** 2)))


def run(first, last, w):
    options = ocp.CheckpointManagerOptions(max_to_keep=1, enable_async_checkpointing=False)
    with ocp.CheckpointManager(root, options=options) as manager:
        for step in range(first, last + 1):
            loss, g = grad(w, jax.random.normal(jax.random.key(step), (64, 5)))
            w = w - 0.1 * g
            if step % 20 == 0:
                logging.info("step %d loss %.6f", step, loss)
                try:
                    if step == 40:
                        raise OSError(116, "Stale file handle", str(root))
                    manager.save(step, args=ocp.args.StandardSave({"w": w}))
                except OSError as error:
                    logging.error("saving step %d failed: %s; trying again", step, error)
                    manager.save(step, args=ocp.args.StandardSave({"w": w}))
        return manager.latest_step()


latest = run(1, 60, jnp.zeros(5))
with ocp.CheckpointManager(root) as manager:
    w = manager.restore(latest, args=ocp.args.StandardRestore({"w": jnp.zeros(5)}))["w"]
logging.info("resumed at step %d", latest)
logging.info("finished at step %d, exit code 0", run(latest + 1, 100, w))
