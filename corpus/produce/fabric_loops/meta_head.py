# /// case
# cause = "device_mismatch"
# exit_code = 1
# environment = "hf4"
# ///
"""A new head is built on the meta device and never moved."""

import lightning_fabric as L
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, width, tags):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, width), nn.SiLU())
        with torch.device("meta"):
            self.scale = nn.Buffer(torch.ones(width))
        self.head = nn.Linear(width, tags)

    def forward(self, x):
        return self.head(self.body(x) * self.scale)


fabric = L.Fabric(accelerator="cpu", devices=1)
fabric.seed_everything(8)
model = Tagger(32, 5)
optimizer = torch.optim.AdamW(model.parameters())
fabric.print({name: str(p.device) for name, p in model.named_parameters()})
model, optimizer = fabric.setup(model, optimizer, move_to_device=False)
for step in range(4):
    loss = model(torch.randn(8, 10)).logsumexp(1).mean()
    fabric.backward(loss)
    fabric.print("step", step, loss.item())
