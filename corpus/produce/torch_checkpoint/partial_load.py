# /// case
# cause = "none"
# exit_code = 0
# why = "keys that do not fit are left out on purpose"
# ///
"""Weights that do not fit are left out with loud warnings, and the fine-tuning ends well."""

import torch
from torch import nn


def build(classes):
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, classes))


torch.save(build(100).state_dict(), "base.pt")
model = build(4)
state, own = torch.load("base.pt"), model.state_dict()
for key in list(state):
    if state[key].shape != own[key].shape:
        print(
            f"size mismatch for {key}: {tuple(state[key].shape)} vs {tuple(own[key].shape)} (ignored)"
        )
        del state[key]
print("WARNING:", model.load_state_dict(state, strict=False))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(101):
    x = torch.randn(128, 10)
    loss = nn.functional.cross_entropy(model(x), x[:, :4].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step:3d}/100 loss {loss.item():.4f}")
torch.save(model.state_dict(), "tuned.pt")
print("done")
