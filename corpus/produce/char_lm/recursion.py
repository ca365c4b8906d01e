# /// case
# cause = "traceback"
# exit_code = 1
# ///
"""A wrapper that forwards every unknown attribute to itself ends in a RecursionError when copied."""

import copy

import torch
from torch import nn


class EMA:
    """Moving average of a model; everything else is asked of the model itself."""

    def __init__(self, model, decay):
        self.model = model
        self.decay = decay

    def __getattr__(self, name):
        return getattr(self.model, name)

    @torch.no_grad()
    def update(self, other):
        for mine, new in zip(self.model.parameters(), other.parameters()):
            mine.lerp_(new, 1 - self.decay)


model = nn.Sequential(nn.Embedding(50, 16), nn.Linear(16, 50))
ema = EMA(copy.deepcopy(model), 0.99)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
snapshots = []
for it in range(60):
    x = torch.randint(0, 50, (32,))
    loss = nn.functional.cross_entropy(model(x), (x + 1) % 50)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(model)
    if it % 10 == 0:
        print(f"it {it} loss {loss.item():.3f}", flush=True)
    if it == 50:
        snapshots.append(copy.deepcopy(ema))
print(len(snapshots), "snapshots")
