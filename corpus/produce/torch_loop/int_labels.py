# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""Labels read as 32-bit integers reach a loss that wants 64 bits."""

import numpy as np
import torch
from torch import nn


def load(n, seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 16)).astype(np.float32)
    labels = features[:, :4].argmax(axis=1).astype(np.int16)
    return torch.from_numpy(features), torch.from_numpy(labels)


def train_one_epoch(model, optimizer, x, y):
    model.train()
    total = 0.0
    for i in range(0, len(x), 64):
        logits = model(x[i : i + 64])
        loss = nn.functional.nll_loss(logits.log_softmax(-1), y[i : i + 64])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


if __name__ == "__main__":
    x_train, y_train = load(1024, 0)
    x_val, y_val = load(256, 1)
    print("train:", tuple(x_train.shape), "val:", tuple(x_val.shape))
    net = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for epoch in range(4):
        print("epoch", epoch, "train loss", train_one_epoch(net, opt, x_train, y_train))
