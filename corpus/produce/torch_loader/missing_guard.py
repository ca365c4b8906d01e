# /// case
# cause = "pickling"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the missing main guard; the parent only sees that its worker left"
# ///
"""Spawned workers import a program that has no main guard."""

import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset

mp.set_start_method("spawn", force=True)
torch.manual_seed(0)

dataset = TensorDataset(torch.randn(64, 3), torch.randn(64, 1))
loader = DataLoader(dataset, batch_size=16, num_workers=1)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
print("start")
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
