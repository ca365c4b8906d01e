# /// case
# cause = "traceback"
# exit_code = 1
# ///
"""The student forgets the parentheses of a method."""

import torch
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __init__(self, n):
        self.points = torch.rand(n, 2)
        self.labels = (self.points.norm(dim=1) < 0.8).float

    def __len__(self):
        return len(self.points)

    def __getitem__(self, i):
        return self.points[i], self.labels[i]


print("torch version:", torch.__version__)
print("cuda?", torch.cuda.is_available())
data = Points(256)
print("number of points:", len(data))
loader = DataLoader(data, batch_size=16, shuffle=True)
model = torch.nn.Linear(2, 1)
criterion = torch.nn.BCEWithLogitsLoss()
for epoch in range(3):
    print("EPOCH", epoch)
    for points, labels in loader:
        loss = criterion(model(points)[:, 0], labels)
        loss.backward()
    print("loss", loss.item())
