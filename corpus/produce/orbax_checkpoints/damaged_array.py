# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "the data files of the checkpoint are corrupt"
# ///
"""The array data of the checkpoint were overwritten while they were copied."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

path = Path.cwd() / "step_1000"
checkpointer = ocp.StandardCheckpointer()
rng = np.random.default_rng(0)
state = {"encoder": jnp.asarray(rng.normal(size=(128, 128))), "head": jnp.ones((128, 4))}
checkpointer.save(path, state)
checkpointer.wait_until_finished()
for file in sorted(path.rglob("*")):
    if file.is_file() and "d" in file.parent.name and file.stat().st_size > 2000:
        size = file.stat().st_size
        file.write_bytes(bytes(size))
        print(f"copied {file.relative_to(path)} ({size} bytes)")
print("resuming from step 1000")
state = checkpointer.restore(path, state)
print("restored", {name: value.shape for name, value in state.items()})
