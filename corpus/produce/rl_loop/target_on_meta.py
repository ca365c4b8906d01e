# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""The target network was created on another device than the batch."""

import copy

import torch
from torch import nn

q = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
target = copy.deepcopy(q).to("meta")
optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
memory = [(torch.randn(6), i % 4, float(i % 3 == 0), torch.randn(6)) for i in range(256)]
for update in range(40):
    s, a, r, n = zip(*memory[update * 4 : update * 4 + 16])
    s, n = torch.stack(s), torch.stack(n)
    value = q(s).gather(1, torch.tensor(a)[:, None]).squeeze(1)
    if update < 10:
        goal = torch.tensor(r)
    else:
        goal = torch.tensor(r) + 0.99 * target(n).max(1).values
    loss = nn.functional.smooth_l1_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"update {update} loss {loss.item():.4f}", flush=True)
