# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""A cache of keys stays on another device than the queries."""

import torch
from torch.nn import functional as F
from tqdm import tqdm


class KeyValueCache:
    def __init__(self, device):
        self.device = device
        self.keys = self.values = None

    def append(self, k, v):
        k, v = k.to(self.device), v.to(self.device)
        self.keys = k if self.keys is None else torch.cat([self.keys, k], -2)
        self.values = v if self.values is None else torch.cat([self.values, v], -2)
        return self.keys, self.values


w = torch.randn(32, 96) / 6
for name, device in (("baseline", "cpu"), ("offload", "meta")):
    cache = KeyValueCache(device)
    x = torch.randn(1, 2, 1, 32)
    for token in tqdm(range(16), desc=f"decode {name}", ncols=70):
        q, k, v = (x @ w).chunk(3, -1)
        x = F.scaled_dot_product_attention(q, *cache.append(k, v))
    print(name, "norm", round(x.norm().item(), 4))
