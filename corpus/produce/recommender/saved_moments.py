# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""The moments of the optimizer are taken over from a lazily loaded checkpoint and have no device of their own."""

import logging

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s: %(message)s")
log = logging.getLogger("two_tower")


def towers():
    return nn.ModuleDict({"user": nn.EmbeddingBag(500, 24), "item": nn.EmbeddingBag(900, 24)})


def step(model, optimizer, users, items, bought):
    score = (model["user"](users) * model["item"](items)).sum(-1)
    loss = nn.functional.binary_cross_entropy_with_logits(score, bought)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train(model, optimizer, steps, first=0):
    for i in range(first, first + steps):
        users, items = torch.randint(500, (64, 5)), torch.randint(900, (64, 3))
        loss = step(model, optimizer, users, items, torch.randint(2, (64,)).float())
        if i % 10 == 0:
            log.info("step %d bce %.4f", i, loss)


model = towers()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
train(model, optimizer, 30)
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "towers.pt")
log.info("saved towers.pt, resuming as the second stage would")

saved = torch.load("towers.pt", map_location="meta", weights_only=True)
weights = torch.load("towers.pt", weights_only=True)["model"]
model = towers()
model.load_state_dict(weights)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, foreach=True)
for parameter, state in zip(model.parameters(), saved["optimizer"]["state"].values(), strict=True):
    optimizer.state[parameter] = {**state, "step": torch.tensor(30.0)}
train(model, optimizer, 30, first=30)
