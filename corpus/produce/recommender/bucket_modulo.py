# /// case
# cause = "div_zero"
# exit_code = 1
# why = "torch words the integer division by zero as a RuntimeError with this text"
# ///
"""Hashed feature ids are reduced modulo the size of each table, and one table is empty."""

import torch
from torch import nn

SIZES = {"country": 64, "device": 16, "campaign": 0, "hour": 24}


class HashedTables(nn.Module):
    def __init__(self, sizes, width):
        super().__init__()
        self.register_buffer("sizes", torch.tensor(list(sizes.values())))
        self.tables = nn.ModuleList(nn.Embedding(max(n, 1), width) for n in sizes.values())

    def forward(self, hashes):
        index = hashes % self.sizes
        return torch.cat([table(index[:, i]) for i, table in enumerate(self.tables)], dim=1)


torch.manual_seed(2)
model = nn.Sequential(HashedTables(SIZES, 6), nn.Linear(24, 1))
print(f"{sum(p.numel() for p in model.parameters())} parameters in {len(SIZES)} tables")
loader = torch.utils.data.DataLoader(torch.randint(0, 1 << 31, (640, 4)), batch_size=64)
for n, hashes in enumerate(loader):
    print(f"batch {n}: logit mean {model(hashes).mean().item():.4f}")
