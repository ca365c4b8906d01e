# /// case
# cause = "none"
# exit_code = 0
# env = {WANDB_MODE = "offline"}
# why = "offline mode with warnings; the run is finished and kept on disk"
# ///
"""An offline run with warnings about steps and a retried upload of metrics ends well."""

import logging

import wandb

logging.basicConfig(level=logging.WARNING, format="%(levelname)s:%(name)s:%(message)s")
run = wandb.init(project="detector", config={"on_error": "abort", "nan_policy": "raise"})
for step in range(12):
    run.log({"train/loss": 2 / (1 + step), "train/grad_norm": 0.1}, step=step)
run.log({"late": 1}, step=3)
try:
    raise ConnectionError("metrics gateway refused the connection")
except ConnectionError as error:
    logging.warning("could not push to the gateway (%s), keeping metrics locally", error)
run.summary["best_loss"] = 2 / 12
run.finish()
print("done, exit code 0")
