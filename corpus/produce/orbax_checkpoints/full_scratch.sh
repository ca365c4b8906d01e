# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# command = "unshare -m bash {program}"
# needs = ["root"]
# why = "no space left on the volume, though the library's status reads RESOURCE_EXHAUSTED"
# ///
# The scratch volume is too small for the second checkpoint.
mkdir -p scratch && mount -t tmpfs -o size=6m tmpfs scratch
cat > pretrain.py << 'PROGRAM'
from pathlib import Path

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

manager = ocp.CheckpointManager(
    Path.cwd() / "scratch", options=ocp.CheckpointManagerOptions(max_to_keep=3)
)
params = {"table": jax.random.normal(jax.random.key(0), (1000, 1000)), "scale": jnp.ones(())}


@jax.jit
def step_fn(params, key):
    x = jax.random.normal(key, (8, 1000))
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p["table"] * p["scale"]) ** 2))(params)
    return jax.tree.map(lambda p, g: p - 1e-4 * g, params, grads), loss


for step in range(1, 41):
    params, loss = step_fn(params, jax.random.key(step))
    if step % 5 == 0:
        print(f"[pretrain] step {step} loss {loss:.3f}", flush=True)
    if step % 10 == 0:
        manager.save(step, args=ocp.args.StandardSave(params))
manager.wait_until_finished()
manager.close()
PROGRAM
python pretrain.py
