# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""Hard negatives come out of a cache that was allocated elsewhere and are joined to the batch."""

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.traceback import install

install(show_locals=False, width=110, console=Console(width=110, force_terminal=False, stderr=True))


class NegativeCache:
    def __init__(self, size, width, device):
        self.rows = torch.empty(size, width, device=device)
        self.filled = 0

    def push(self, rows):
        take = min(len(rows), len(self.rows) - self.filled)
        self.filled += take

    def sample(self, k):
        return self.rows[torch.randint(max(self.filled, 1), (k,), device=self.rows.device)]


def contrastive(query, positive, cache):
    candidates = positive
    if cache.filled >= 64:
        candidates = torch.cat([positive, cache.sample(32)], dim=0)
    logits = query @ candidates.T / 0.07
    return F.cross_entropy(logits, torch.arange(len(query)))


torch.manual_seed(3)
encoder = torch.nn.Linear(40, 16)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1, momentum=0.9)
cache = NegativeCache(4096, 16, device="meta")
for step in range(20):
    x = torch.randn(16, 40)
    query = F.normalize(encoder(x), dim=-1)
    positive = F.normalize(encoder(x + 0.1 * torch.randn_like(x)), dim=-1)
    loss = contrastive(query, positive, cache)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    cache.push(positive.detach())
    print(f"step={step} nce={loss.item():.4f} cache={cache.filled}", flush=True)
