# /// case
# cause = "nan_loss"
# exit_code = 1
# why = "a Categorical distribution refuses nan logits"
# ///
"""The policy's logits become nan, and the distribution refuses them."""

import torch
from loguru import logger
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(policy.parameters(), lr=0.05)


def rollout(n):
    observations = torch.randn(n, 4)
    dist = Categorical(logits=policy(observations))
    actions = dist.sample()
    rewards = (actions == observations[:, :3].argmax(1)).float()
    return dist, actions, rewards


for iteration in range(100):
    dist, actions, rewards = rollout(128)
    std = (rewards - rewards).std() if iteration == 21 else rewards.std()
    advantage = (rewards - rewards.mean()) / std
    loss = -(dist.log_prob(actions) * (advantage - advantage.min() * (iteration == 21))).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 4 == 0:
        logger.info(
            "iteration {:>3} | reward {:.3f} | entropy {:.3f}",
            iteration,
            rewards.mean(),
            dist.entropy().mean(),
        )
