# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the loss is computed between whole numbers and probabilities: number types do not fit"
# ///
"""Integer targets reach a loss that wants floats, after a warm-up with soft targets."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clicks(Dataset):
    """Soft targets first, then hard ones."""

    def __len__(self):
        return 120

    def __getitem__(self, i):
        target = torch.rand(1) if i < 80 else torch.tensor([i % 2])
        return torch.randn(6), target


accelerator = Accelerator(cpu=True)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(Clicks(), 10))
criterion = nn.BCEWithLogitsLoss()
for step, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    accelerator.print(f"step={step} loss={loss.item():.4f} lr={optimizer.param_groups[0]['lr']}")
