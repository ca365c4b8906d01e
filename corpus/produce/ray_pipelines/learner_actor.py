# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0", RAY_DEDUP_LOGS = "0"}
# why = "the learner's error is the first; the rollouts only report the dead or failing actor"
# ///
"""The learner actor gets observations of a wrong width from one of the rollout actors."""

import time

import ray
import torch
from torch import nn


@ray.remote
class Learner:
    def __init__(self, width):
        self.net = nn.Sequential(nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, 2))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=3e-4)
        self.updates = 0

    def update(self, obs, returns):
        value = self.net(torch.as_tensor(obs))[:, 0]
        loss = (value - torch.as_tensor(returns)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        print(f"update {self.updates} value loss {loss.item():.4f}")
        return loss.item()


@ray.remote
class Rollout:
    def __init__(self, index, learner, frame_stack=1):
        self.index, self.learner, self.width = index, learner, 8
        self.generator = torch.Generator().manual_seed(index)

    def run(self, episodes):
        for i in range(episodes):
            width = self.width + (2 if self.index == 2 and i >= 3 else 0)
            obs = torch.rand(20, width, generator=self.generator)
            print(f"[rollout {self.index}] episode {i} return {obs.sum().item():.2f}")
            ray.get(self.learner.update.remote(obs.numpy(), obs.sum(1).numpy()))
            time.sleep(0.2)
        return episodes


def main():
    ray.init(num_cpus=4, include_dashboard=False, configure_logging=True)
    learner = Learner.remote(8)
    rollouts = [Rollout.remote(i, learner) for i in range(3)]
    for result in [one.run.remote(6) for one in rollouts]:
        print("episodes:", ray.get(result))


if __name__ == "__main__":
    main()
