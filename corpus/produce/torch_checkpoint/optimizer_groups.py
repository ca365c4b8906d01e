# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The optimizer of the checkpoint had other parameter groups."""

import torch
from loguru import logger
from torch import nn


def make_optimizer(model, split_decay):
    if not split_decay:
        return torch.optim.AdamW(model.parameters(), lr=1e-3)
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    return torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    )


def step(model, optimizer):
    loss = model(torch.randn(16, 10)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


model = nn.Sequential(nn.Linear(10, 20), nn.LayerNorm(20), nn.Linear(20, 1))
optimizer = make_optimizer(model, split_decay=False)
for i in range(3):
    logger.info("phase 1 step {} loss {:.4f}", i, step(model, optimizer))
torch.save({"model": model.state_dict(), "optim": optimizer.state_dict()}, "phase1.pt")
logger.success("phase 1 finished, checkpoint phase1.pt")

optimizer = make_optimizer(model, split_decay=True)
state = torch.load("phase1.pt")
model.load_state_dict(state["model"])
optimizer.load_state_dict(state["optim"])
for i in range(3):
    logger.info("phase 2 step {} loss {:.4f}", i, step(model, optimizer))
