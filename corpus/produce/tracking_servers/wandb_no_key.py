# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# env = {WANDB_SILENT = "false"}
# why = "no credentials are configured on the node, which is a setting of the job"
# ///
"""wandb finds no API key and may not ask for one."""

import numpy as np
import wandb

print("numpy", np.__version__, "wandb", wandb.__version__, flush=True)
run = wandb.init(project="denoiser", config={"lr": 1e-4, "batch_size": 16})
for step in range(5):
    run.log({"loss": 1 / (1 + step)})
run.finish()
