# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""The norm of the last stage was built apart and is not on the device of the others."""

import argparse

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--depth", type=int, default=3)
args = parser.parse_args()
accelerator = Accelerator(cpu=True)
log = get_logger(__name__, log_level="INFO")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix, self.norm = nn.Linear(width, width), nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x + self.mix(x))


blocks = [Block(48) for _ in range(args.depth)]
model = nn.Sequential(*blocks, nn.Linear(48, 5))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
model, optimizer = accelerator.prepare(model, optimizer)
for step in range(30):
    if step == 20:
        accelerator.print("switching the last block to its exported version")
        model[args.depth - 1].norm = nn.LayerNorm(48, device="meta")
    x, y = torch.randn(16, 48), torch.randint(5, (16,))
    loss = nn.functional.cross_entropy(model(x), y)
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    if step % 5 == 0:
        accelerator.print(f"{step=} {loss.item()=:.4f} device={accelerator.device}")
