# /// case
# cause = "traceback"
# exit_code = 1
# environment = "hf4"
# ///
"""The batch is a dictionary, and the loop unpacks it as a pair."""

import lightning_fabric as L
import torch
from torch.utils.data import DataLoader

torch.manual_seed(0)
rows = [{"pixels": torch.rand(9), "target": i % 2, "site": "north"} for i in range(48)]
fabric = L.Fabric(accelerator="cpu", devices=1)
loader = fabric.setup_dataloaders(DataLoader(rows, batch_size=8))
model = fabric.setup(torch.nn.Linear(9, 2))
fabric.print(f"{len(loader)} batches per epoch")
for epoch in range(2):
    for batch in loader:
        x, y, site = batch
        loss = torch.nn.functional.cross_entropy(model(x.float()), y)
        fabric.backward(loss)
    fabric.print(epoch, loss.item())
