# /// case
# cause = "div_zero"
# exit_code = 1
# ///
"""The warm-up fraction rounds to no step at all and the schedule divides by it."""

import math

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR


def cosine_with_warmup(optimizer, warmup, total):
    def factor(step):
        if step <= warmup:
            return step / warmup
        progress = (step - warmup) / max(1, total - warmup)
        return 0.5 * (1 + math.cos(math.pi * progress))

    return LambdaLR(optimizer, factor)


def main():
    model = nn.Linear(6, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    x = torch.randn(90, 6)
    epochs, batch = 2, 10
    total = epochs * len(x) // batch
    warmup = int(0.03 * total)
    print("starting training")
    scheduler = cosine_with_warmup(optimizer, warmup, total)
    for epoch in range(epochs):
        for chunk in x.split(batch):
            loss = (model(chunk) - chunk.sum(1, keepdim=True)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        print(epoch, loss.item())


main()
