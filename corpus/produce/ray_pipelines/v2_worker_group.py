# /// case
# cause = "nan_loss"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0", RAY_TRAIN_V2_ENABLED = "1", RAY_TRAIN_ENABLE_PROGRESS_BARS = "0"}
# timeout_s = 400
# why = "the guard of the training function stops a loss that is not finite; every retry of the worker group meets it again"
# ///
"""Ray Train restarts the worker group once, and both times the loss becomes NaN."""

import logging
import os

import ray
import ray.train
import torch
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model


def train_func(config):
    logging.basicConfig(level=logging.INFO)
    torch.manual_seed(config["seed"])
    model = prepare_model(torch.nn.Linear(10, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9)
    for step in range(400):
        x = torch.randn(32, 10)
        loss = (model(x) - x).pow(4).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not torch.isfinite(loss):
            raise RuntimeError(
                f"non-finite loss {loss.item()} at step {step}, stopping this worker"
            )
        if step % 10 == 0:
            ray.train.report({"loss": loss.item(), "step": step})


def main():
    ray.init(num_cpus=4, include_dashboard=False)
    trainer = TorchTrainer(
        train_func,
        train_loop_config={"lr": 0.5, "seed": 1},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(
            name="autoencoder",
            storage_path=os.path.abspath("results"),
            failure_config=FailureConfig(max_failures=1),
        ),
    )
    result = trainer.fit()
    print(result.metrics)


if __name__ == "__main__":
    main()
