# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "autograd misuse: the memory queue is changed in place before the backward pass that needs it"
# ///
"""A queue of negatives is updated in place before the backward pass."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(4)
torch.set_num_threads(1)


class Momentum(nn.Module):
    def __init__(self, width=16, size=64, tau=0.07):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, width))
        self.queue = nn.Parameter(F.normalize(torch.randn(width, size), dim=0))
        self.tau, self.at = tau, 0

    def forward(self, x, y):
        q, k = (F.normalize(self.query(one), dim=1) for one in (x, y))
        positive = (q * k).sum(1, keepdim=True)
        negative = q @ self.queue
        logits = torch.cat([positive, negative], dim=1) / self.tau
        if self.at >= 3 * len(x):
            self._enqueue(k.detach())
        self.at += len(x)
        return F.cross_entropy(logits, torch.zeros(len(x), dtype=torch.long))

    @torch.no_grad()
    def _enqueue(self, keys):
        at = self.at % self.queue.shape[1]
        self.queue[:, at : at + len(keys)] = keys.t()


model = Momentum()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
print(model)
for step in range(20):
    x = torch.randn(8, 24)
    loss = model(x, x + 0.1 * torch.randn_like(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step={step} info_nce={loss.item():.4f} temperature={model.tau}")
