# /// case
# cause = "runtime_error"
# exit_code = 1
# ///
"""With gradient accumulation the gradients of one update are unscaled twice."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--accum", type=int, default=2)
parser.add_argument("--clip", type=float, default=1.0)
opt = parser.parse_args()

net = nn.Linear(6, 3)
optimizer = torch.optim.AdamW(net.parameters())
scaler = torch.amp.GradScaler("cpu")
print(f"{opt} scale={scaler.get_scale()} (gradient overflow is expected in the first steps)")
for micro in range(12):
    x = torch.randn(4, 6)
    loss = net(x).square().mean() / opt.accum
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), opt.clip)
    if (micro + 1) % opt.accum == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        print(f"update {micro // opt.accum} loss {loss.item():.4f} scale {scaler.get_scale()}")
