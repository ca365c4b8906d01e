# /// case
# cause = "div_zero"
# paper_class = "div_zero"
# exit_code = 1
# why = "the kernel of the operator divides by the count of active channels, and nothing in the log says why it is zero"
# ///
"""A custom operator inside the compiled model divides by a count that is zero."""

import sys

import numpy as np
import torch
from torch import nn


@torch.library.custom_op("ssm::selective_scan", mutates_args=())
def selective_scan(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    state, out = np.zeros(x.shape[::2]), np.empty(x.shape)
    values, rate = x.detach().numpy(), decay.detach().sigmoid().numpy()
    active = int((rate > 0.5).sum())
    share = values.shape[-1] // active
    for t in range(x.shape[1]):
        state = state * rate + values[:, t] * share
        out[:, t] = state
    return torch.from_numpy(out).to(x.dtype)


@selective_scan.register_fake
def _(x, decay):
    return torch.empty_like(x)


selective_scan.register_autograd(lambda ctx, grad: (grad, None))


class Mixer(nn.Module):
    def __init__(self, bias, dim=16):
        super().__init__()
        self.inner = nn.Linear(dim, dim)
        self.decay = nn.Parameter(torch.full((dim,), bias))

    def forward(self, x):
        return selective_scan(self.inner(x), self.decay)


def fit(model, steps, title):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for step in range(steps):
        x = torch.randn(4, 12, 16)
        loss = (model(x) - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{title} {step} | loss {loss.item():.4f}", file=sys.stderr)


torch.manual_seed(0)
fit(Mixer(0.5), 5, "eager")
fit(torch.compile(Mixer(-0.5), fullgraph=True), 5, "compiled")
