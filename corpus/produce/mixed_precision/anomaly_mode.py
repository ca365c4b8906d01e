# /// case
# cause = "nan_loss"
# exit_code = 1
# why = "anomaly mode names the function whose gradient is nan"
# ///
"""Anomaly mode stops at a square root whose gradient at zero times zero is nan."""

import logging

import torch
from torch import nn

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)-8s %(name)s:%(lineno)d  %(message)s"
)
log = logging.getLogger("metric")
torch.autograd.set_detect_anomaly(True)


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, a, b):
        gap = self.net(a) - self.net(b)
        return gap.square().sum(-1).sqrt()


torch.manual_seed(0)
model = Embedder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(100):
    a = torch.randn(32, 8)
    b = a + torch.randn(32, 8) * (0.0 if step == 26 else 0.5)
    loss = (model(a, b) - 1).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        log.info("step %d contrastive loss %.5f", step, loss.item())
