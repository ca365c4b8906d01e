# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "a label outside the classes, seen on the CPU"
# ///
"""One record carries a label that the classifier has no output for."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Records(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(3)
        self.x = torch.randn(n, 10, generator=g)
        self.y = torch.randint(0, 5, (n,), generator=g)
        self.y[n * 3 // 4] = 5

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


model = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loader = DataLoader(Records(2000), batch_size=100)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
for i, (inputs, labels) in enumerate(loader):
    loss = criterion(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"Train Epoch: 0 [{i * 100}/{len(loader.dataset)}]\tLoss: {loss.item():.6f}")
