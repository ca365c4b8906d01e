# /// case
# cause = "runtime_error"
# exit_code = 1
# ///
"""A mask written into the activations in place breaks the backward pass, with anomaly mode on."""

import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, width)

    def forward(self, x, mask):
        h = torch.sigmoid(self.proj(x))
        h[mask] = 0.0
        return h * x


def run(steps):
    torch.autograd.set_detect_anomaly(True)
    net = nn.ModuleList([Gate(24) for _ in range(2)])
    out = nn.Linear(24, 3)
    optimizer = torch.optim.SGD([*net.parameters(), *out.parameters()], lr=0.05)
    for step in range(steps):
        x, y = torch.randn(16, 24), torch.randint(0, 3, (16,))
        mask = torch.rand(16, 24) < (0.1 if step >= 6 else -1.0)
        h = x
        for gate in net:
            h = gate(h, mask) if step >= 6 else torch.sigmoid(gate.proj(h)) * h
        loss = nn.functional.cross_entropy(out(h), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"iter {step:3d} | loss {loss.item():.4f} | masked {int(mask.sum())}", flush=True)


run(12)
