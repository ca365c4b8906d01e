# /// case
# cause = "device_mismatch"
# exit_code = 1
# timeout_s = 150
# why = "ray wraps the error of the task; its cause is in the remote traceback"
# ///
"""A policy that was shipped without its weights is used in a remote evaluation."""

import ray
import torch
from torch import nn

ray.init(num_cpus=1, include_dashboard=False, logging_level="error")


def policy(device="cpu"):
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 2)).to(device)


@ray.remote
def evaluate(network, episodes):
    observations = torch.randn(episodes, 4)
    return network(observations).argmax(-1).float().mean().item()


for generation, device in enumerate(["cpu", "cpu", "meta"]):
    reward = ray.get(evaluate.remote(policy(device), 16))
    print(f"generation {generation}: mean action {reward:.3f}", flush=True)
