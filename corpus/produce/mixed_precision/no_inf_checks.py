# /// case
# cause = "assertion"
# exit_code = 1
# why = "an assertion of the scaler about its own bookkeeping: there were no gradients to check"
# ///
"""All parameters given to the optimizer are frozen, so the scaler has checked nothing."""

import torch
from torch import nn

backbone, head = nn.Linear(8, 8), nn.Linear(8, 2)
for p in backbone.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.SGD([{"params": backbone.parameters(), "lr": 0.001}], lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
print("stage 1: head only")
trainable = sum(p.numel() for p in [*backbone.parameters(), *head.parameters()] if p.requires_grad)
print("trainable parameters:", trainable)
for step in range(10):
    x = torch.randn(16, 8)
    loss = nn.functional.cross_entropy(head(backbone(x)), (x.sum(1) > 0).long())
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.4f}")
