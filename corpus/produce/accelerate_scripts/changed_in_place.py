# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "an in-place change of a value that the backward pass needs"
# ///
"""An activation is changed in place before the backward pass."""

import torch
from accelerate import Accelerator
from torch import nn


class Gate(nn.Module):
    """A sigmoid gate with a residual added afterwards."""

    def __init__(self, width):
        super().__init__()
        self.mix, self.out = nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, x, warm):
        gate = torch.sigmoid(self.mix(x))
        if not warm:
            gate += 0.1 * x
        return self.out(gate * x)


accelerator = Accelerator(cpu=True)
model = Gate(16)
optimizer = torch.optim.AdamW(model.parameters())
model, optimizer = accelerator.prepare(model, optimizer)
for step in range(50):
    loss = model(torch.randn(8, 16), warm=step < 20).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    if step % 5 == 0:
        print({"step": step, "loss": round(loss.item(), 4)}, flush=True)
