# /// case
# cause = "nan_loss"
# exit_code = 1
# why = "the metric refuses nan predictions; the log shows that the loss was nan before"
# ///
"""The model has diverged to nan; the metric of the evaluation is the first to refuse."""

import torch
from sklearn.metrics import roc_auc_score
from torch import nn

torch.manual_seed(3)
x = torch.randn(2000, 10)
y = (x[:, 0] * x[:, 1] > 0).float()
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=30.0, momentum=0.95)
for epoch in range(3):
    losses = []
    for xb, yb in zip(x.split(100), y.split(100)):
        loss = (model(xb).squeeze(1) - yb).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch} | train {sum(losses) / len(losses):.4g}", flush=True)
print("computing validation AUC ...", flush=True)
with torch.no_grad():
    scores = torch.sigmoid(model(x)).squeeze(1)
print("AUC", roc_auc_score(y.numpy(), scores.numpy()))
