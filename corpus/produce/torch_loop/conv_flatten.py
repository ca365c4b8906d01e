# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""The linear layer behind the convolutions was sized for another image."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Linear(16 * 7 * 7, 10)

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.flatten(1))


def main():
    torch.manual_seed(0)
    model = Net()
    print(model)
    print("parameters:", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    images, labels = torch.randn(256, 1, 28, 28), torch.randint(0, 10, (256,))
    for epoch in range(3):
        for x, y in zip(images.split(32), labels.split(32)):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


main()
