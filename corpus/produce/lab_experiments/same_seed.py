# /// case
# cause = "assertion"
# exit_code = 1
# ///
"""Two trainings with one seed should agree and do not, since the dropout masks come from another generator."""

import os
import random
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


def seed_everything(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)


class Noise(nn.Module):
    rng = np.random.default_rng(time.time_ns())

    def forward(self, x):
        return x + 0.1 * torch.from_numpy(self.rng.standard_normal(x.shape, dtype=np.float32))


def train(seed: int, epochs: int = 4) -> list[float]:
    seed_everything(seed)
    model = nn.Sequential(nn.Linear(5, 12), Noise(), nn.Tanh(), nn.Linear(12, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(64, 5)
    losses = []
    for epoch in range(epochs):
        loss = nn.functional.huber_loss(model(x), x.prod(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        norms = {name: f"{p.grad.norm():.4f}" for name, p in model.named_parameters()}
        print(f"[repro] seed={seed} epoch={epoch} huber={loss.item():.6f} gradients={norms}")
    return losses


for seed in (0, 1):
    first, second = train(seed), train(seed)
    for epoch, (one, other) in enumerate(zip(first, second)):
        print(f"[repro] epoch {epoch}: first run {one!r}, second run {other!r}")
    assert first == second, (
        f"seed {seed}: the trainings part in epoch {[a == b for a, b in zip(first, second)].index(False)}"
    )
print("the experiment is reproducible")
