# /// case
# cause = "traceback"
# exit_code = 1
# ///
"""After some epochs the summary asks the history for a metric under another name."""

from collections import OrderedDict

import torch
from torch import nn


def accuracy(logits, y):
    return (logits.argmax(1) == y).float().mean().item()


def fit(model, data, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    history = []
    for epoch in range(epochs):
        x, y = data
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        row = OrderedDict(epoch=epoch, loss=loss.item(), acc=accuracy(logits, y))
        history.append(row)
        print("  ".join(f"{k}={v:.4f}" if k != "epoch" else f"{k}={v}" for k, v in row.items()))
    return history


def best_epoch(history, monitor="val_loss"):
    return min(history, key=lambda row: row[monitor])["epoch"]


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(300, 8)
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
    runs = fit(net, (x, (x[:, 0] > 0).long()), 8)
    print("best epoch:", best_epoch(runs))
