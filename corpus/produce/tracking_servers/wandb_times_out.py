# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# env = {WANDB_API_KEY = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", WANDB_BASE_URL = "http://127.0.0.1:9", WANDB_INIT_TIMEOUT = "12"}
# ///
"""wandb.init() waits for a server that does not answer until its own timeout."""

import wandb

settings = wandb.Settings(init_timeout=12)
run = wandb.init(project="denoiser", name="night", settings=settings)
print("run", run.id)
run.finish()
