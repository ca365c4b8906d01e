# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""A table that is no registered buffer stays on the meta device when the model is moved."""

import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, width, length=128):
        super().__init__()
        position = torch.arange(length).unsqueeze(1)
        scale = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(length, width)
        table[:, 0::2] = torch.sin(position * scale)
        table[:, 1::2] = torch.cos(position * scale)
        self.table = table

    def forward(self, x):
        return x + self.table[: x.size(1)]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 32)
        self.positions = PositionalEncoding(32)
        self.head = nn.Linear(32, 100)

    def forward(self, ids):
        return self.head(self.positions(self.embed(ids)))


def main():
    with torch.device("meta"):
        model = Model()
    model = model.to_empty(device="cpu")
    for p in model.parameters():
        nn.init.normal_(p, std=0.02)
    print("model materialized on", next(model.parameters()).device)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(10):
        ids = torch.randint(0, 100, (8, 16))
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("step", step, float(loss))


main()
