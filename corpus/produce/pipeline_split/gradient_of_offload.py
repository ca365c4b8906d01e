# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""Gradients that were kept on another device are assigned to the parameters before the step."""

import torch
from torch import nn

torch.manual_seed(9)


class OffloadedGradients:
    """Accumulates the gradients of several micro-batches outside of the parameters."""

    def __init__(self, parameters, device):
        self.parameters = list(parameters)
        self.kept = [torch.zeros_like(p, device=device) for p in self.parameters]

    @torch.no_grad()
    def collect(self):
        for kept, parameter in zip(self.kept, self.parameters):
            kept.add_(parameter.grad.to(kept.device))
            parameter.grad = None

    def restore(self):
        for kept, parameter in zip(self.kept, self.parameters):
            parameter.grad = kept


model = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
gradients = OffloadedGradients(model.parameters(), "meta")
for micro in range(4):
    x = torch.randn(32, 10)
    loss = nn.functional.huber_loss(model(x), x[:, :1])
    loss.backward()
    gradients.collect()
    print(f"micro-batch {micro}: {loss.item():.5f}")
gradients.restore()
optimizer.step()
