# /// case
# cause = "runtime_error"
# exit_code = 1
# environment = "hf4"
# ///
"""The penalty of the first batch is kept and used again in the second."""

import lightning_fabric as L
import torch
from torch import nn

fabric = L.Fabric(accelerator="cpu", devices=1)
fabric.seed_everything(0)
model = nn.GRU(6, 12, batch_first=True)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
model, optimizer = fabric.setup(model, optimizer)
hidden = torch.zeros(1, 4, 12)
for window in range(10):
    out, hidden = model(torch.randn(4, 9, 6), hidden)
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    fabric.backward(loss)
    optimizer.step()
    fabric.print(
        f"window {window:02d} | loss {loss.item():.5f} | hidden {hidden.norm().item():.3f}"
    )
