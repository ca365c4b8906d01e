# /// case
# cause = "permission"
# exit_code = 1
# environment = "jax"
# needs = ["root"]
# ///
# The folder of the team may be read, and the checkpoint manager may not write to it.
mkdir -p team/models && chmod 555 team/models
cat > train.sh.py << 'PROGRAM'
import os
from pathlib import Path

import jax.numpy as jnp
import orbax.checkpoint as ocp

print("jobs of this user may write to:", [p for p in (".", "team/models") if os.access(p, os.W_OK)])
options = ocp.CheckpointManagerOptions(create=True, enable_async_checkpointing=False)
manager = ocp.CheckpointManager(Path.cwd() / "team/models/ranker-v3", options=options)
manager.save(0, args=ocp.args.StandardSave({"w": jnp.ones(3)}))
print("saved", manager.latest_step())
PROGRAM
mv train.sh.py ranker.py
exec setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python ranker.py
