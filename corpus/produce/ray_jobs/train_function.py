# /// case
# cause = "file_not_found"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0", RAY_TRAIN_V2_ENABLED = "0"}
# why = "the worker's FileNotFoundError inside TrainingFailedError"
# ///
"""The training function of a TorchTrainer cannot find its data on the worker."""

import os

import ray
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def train_loop(config):
    model = torch.nn.Linear(4, 1)
    rows = torch.load(config["data"])
    for epoch in range(2):
        loss = model(rows).square().mean()
        ray.train.report({"loss": loss.item(), "epoch": epoch})


if __name__ == "__main__":
    ray.init(num_cpus=3, include_dashboard=False)
    trainer = TorchTrainer(
        train_loop,
        train_loop_config={"data": "/data/higgs/train.pt"},
        scaling_config=ScalingConfig(num_workers=1),
        run_config=RunConfig(storage_path=os.path.abspath("results"), name="higgs"),
    )
    print(trainer.fit().metrics)
