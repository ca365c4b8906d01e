# /// case
# cause = "div_zero"
# paper_class = "div_zero"
# exit_code = 1
# why = "the group's spread of rewards is zero and the program divides by it in plain Python; nothing before shows why all rewards are equal"
# ///
"""The advantages of a group are divided by the spread of its rewards in plain Python."""

import statistics
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Group:
    prompt: int
    rollouts: list = field(default_factory=list)
    rewards: list = field(default_factory=list)

    def advantages(self):
        mean, spread = statistics.fmean(self.rewards), statistics.pstdev(self.rewards)
        return [(one - mean) / spread for one in self.rewards]


class Judge:
    """Scores by a rule: how often the wanted token occurs."""

    def __call__(self, group):
        for ids in group.rollouts:
            group.rewards.append(sum(token == group.prompt for token in ids))
        return group


def roll(policy, prompt, n, length, generator):
    group = Group(prompt)
    probs = policy.weight[prompt].softmax(0).detach()
    for _ in range(n):
        group.rollouts.append(torch.multinomial(probs, length, True, generator=generator).tolist())
    return group


def main():
    torch.manual_seed(3)
    generator = torch.Generator().manual_seed(9)
    policy = nn.Embedding(12, 12)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.1)
    with ThreadPoolExecutor(2) as pool:
        for step in range(400):
            groups = [roll(policy, p, 6, 16, generator) for p in range(4)]
            losses, rewards = [], []
            for group in pool.map(Judge(), groups):
                logp = policy.weight[group.prompt].log_softmax(0)
                for ids, advantage in zip(group.rollouts, group.advantages()):
                    losses.append(-advantage * logp[ids].sum())
                rewards += group.rewards
            loss = torch.stack(losses).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 5 == 0:
                print(
                    f"step {step:3d}  reward/mean {statistics.fmean(rewards):.3f}  loss {loss.item():+.4f}",
                    flush=True,
                )


main()
