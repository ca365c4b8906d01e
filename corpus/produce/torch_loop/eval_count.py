# /// case
# cause = "assertion"
# exit_code = 1
# ///
"""The evaluation finds fewer predictions than samples, since the loader drops the last batch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def evaluate(model, loader):
    predictions = []
    with torch.inference_mode():
        for (x,) in loader:
            predictions.append(model(x).argmax(-1))
    predictions = torch.cat(predictions)
    expected = len(loader.dataset)
    assert len(predictions) == expected, f"got {len(predictions)} predictions for {expected} rows"
    return predictions


torch.manual_seed(2)
model = nn.Linear(4, 3)
train = DataLoader(TensorDataset(torch.randn(400, 4)), 32, shuffle=True, drop_last=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
for epoch in range(3):
    for (x,) in train:
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch: {epoch} loss: {loss:.4f} lr: {optimizer.param_groups[0]['lr']}")
print("evaluating ...")
evaluate(model, train)
