# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# why = "a ValueError of the loss function, about sizes"
# ///
"""Logits of shape (n, 1) meet targets of shape (n,) in the binary loss."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
x = torch.randn(500, 20)
y = (x[:, 0] + x[:, 1] > 0).float()
loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters())

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(f"Using device: {device}")
for epoch in range(5):
    running = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        outputs = model(inputs.to(device))
        loss = criterion(outputs, targets.to(device))
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"[{epoch + 1}] loss: {running / len(loader):.3f}")
