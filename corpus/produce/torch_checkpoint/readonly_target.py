# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search python {program}"
# needs = ["root"]
# why = "permission denied in torch.save is a RuntimeError"
# ///
"""The folder for checkpoints belongs to a project whose members may only read it."""

import os

import torch
from torch import nn

os.makedirs("shared/models", exist_ok=True)
os.chmod("shared/models", 0o555)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(30, 30), nn.ReLU(), nn.Linear(30, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
best = 0.0
for epoch in range(1, 6):
    x = torch.randn(512, 30)
    y = x[:, :3].argmax(1)
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    accuracy = (logits.argmax(1) == y).float().mean().item()
    print(f"Epoch {epoch}: loss={loss.item():.4f} acc={accuracy:.4f}", flush=True)
    if accuracy > best and epoch > 1:
        best = accuracy
        print("new best accuracy, saving to shared/models/best.pt", flush=True)
        torch.save(model.state_dict(), "shared/models/best.pt")
