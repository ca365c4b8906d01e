# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "an artifact that the program never wrote is logged"
# ///
"""An artifact is logged that the training never wrote."""

import os

import mlflow

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
mlflow.set_tracking_uri("file:./mlruns")
with mlflow.start_run():
    for epoch in range(3):
        mlflow.log_metric("val_loss", 1 / (1 + epoch), step=epoch)
        print("epoch", epoch, "val_loss", round(1 / (1 + epoch), 3), flush=True)
    mlflow.log_artifact("checkpoints/best.ckpt")
