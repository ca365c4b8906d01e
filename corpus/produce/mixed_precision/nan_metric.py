# /// case
# cause = "none"
# exit_code = 0
# why = "a metric of a class without samples is nan; the loss is fine"
# ///
"""The metric of a class without samples is nan; the training itself is sound."""

import warnings

import torch
from sklearn.metrics import roc_auc_score
from torch import nn

torch.manual_seed(1)
x = torch.randn(600, 5)
targets = torch.stack([x[:, 0] > 0, x[:, 1] > 0.5, x[:, 2] > 99], 1).float()
model = nn.Linear(5, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(1, 7):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scores = []
    for k in range(3):
        if targets[:, k].sum() == 0:
            warnings.warn(
                "Only one class present in y_true. ROC AUC score is not defined in that case."
            )
            scores.append(float("nan"))
        else:
            scores.append(roc_auc_score(targets[:, k], model(x)[:, k].detach()))
    print(
        f"epoch {epoch} train_loss {loss.item():.4f} val_auc_macro nan per_class {[round(s, 3) for s in scores]}"
    )
print("best epoch: 6; finished without errors")
