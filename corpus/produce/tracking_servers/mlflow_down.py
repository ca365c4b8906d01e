# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# env = {MLFLOW_TRACKING_URI = "http://127.0.0.1:9", MLFLOW_HTTP_REQUEST_MAX_RETRIES = "2", MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR = "1"}
# ///
"""The MLflow server does not answer, so the run cannot be started."""

import logging

import mlflow

logging.basicConfig(level=logging.INFO)
mlflow.set_experiment("segmentation")
with mlflow.start_run(run_name="unet-3"):
    for step in range(10):
        mlflow.log_metric("loss", 1 / (1 + step), step=step)
