# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# needs = ["root"]
# ///
"""The folder for event files was made by the administrator, and TensorBoard's writer cannot create one in it."""

import os
import warnings

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

warnings.simplefilter("default")
os.makedirs("tb/2026-02", exist_ok=True)
os.chmod("tb/2026-02", 0o555)
torch.manual_seed(0)
model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(56, 2))
optimizer = torch.optim.NAdam(model.parameters(), lr=2e-3)
print(model)
writer = SummaryWriter("tb/2026-02")
for step in range(100):
    x = torch.randn(32, 1, 16)
    loss = nn.functional.cross_entropy(model(x), (x.mean((1, 2)) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.add_scalar("loss", loss.item(), step)
    print(f"step {step} loss {loss.item():.4f}", flush=True)
