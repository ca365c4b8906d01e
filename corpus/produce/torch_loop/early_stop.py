# /// case
# cause = "none"
# exit_code = 0
# why = "early stopping is a good end"
# ///
"""Early stopping ends the training before all epochs; that is a good end."""

import torch
from torch import nn


class EarlyStopping:
    def __init__(self, patience):
        self.best, self.left, self.patience = float("inf"), patience, patience

    def __call__(self, value):
        if value < self.best - 1e-3:
            self.best, self.left = value, self.patience
            return False
        self.left -= 1
        print(f"EarlyStopping counter: {self.patience - self.left} out of {self.patience}")
        return self.left == 0


torch.manual_seed(0)
x = torch.randn(400, 6)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
stop = EarlyStopping(patience=3)
for epoch in range(500):
    loss = nn.functional.cross_entropy(model(x[:300]), y[:300])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        with torch.no_grad():
            val = nn.functional.cross_entropy(model(x[300:]), y[300:]).item()
        print(f"epoch {epoch} train {loss.item():.4f} val {val:.4f}")
        if stop(val):
            print(f"Validation loss has not improved: aborting training at epoch {epoch}")
            break
print("restored best weights, final val loss", round(stop.best, 4))
