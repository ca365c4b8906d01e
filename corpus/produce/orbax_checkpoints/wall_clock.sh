# /// case
# cause = "time_limit"
# paper_class = ""
# exit_code = 124
# environment = "jax"
# why = "timeout(1) of the job script ends the training"
# ///
# The script gives the training fifteen seconds, and it takes longer.
LIMIT=15
cat > long.py << 'PROGRAM'
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

manager = ocp.CheckpointManager(Path.cwd() / "ckpt", options=ocp.CheckpointManagerOptions(max_to_keep=1))
w = jnp.zeros(64)
for step in range(100_000):
    w = w + 1e-3
    time.sleep(0.02)
    if step % 50 == 0:
        print(f"step {step}/100000 norm {jnp.linalg.norm(w):.4f}", flush=True)
        manager.save(step, args=ocp.args.StandardSave({"w": w}))
PROGRAM
echo "running with a limit of $LIMIT s"
timeout --verbose -k 5 $LIMIT python -u long.py
code=$?
echo "training left with $code"
exit $code
