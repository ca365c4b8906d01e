# /// case
# cause = "div_zero"
# exit_code = 1
# ///
"""The hit rate divides by the number of users that the running window holds, and there is none."""

import random
from collections import deque

import torch
from torch import nn

random.seed(5)
torch.manual_seed(5)


class Window:
    def __init__(self, seconds):
        self.seconds, self.rows = seconds, deque()

    def add(self, when, hit):
        self.rows.append((when, hit))

    def rate(self, now):
        while self.rows and now - self.rows[0][0] > self.seconds:
            self.rows.popleft()
        return sum(hit for _, hit in self.rows) / len(self.rows)


users, items = nn.Embedding(200, 8), nn.Embedding(300, 8)
optimizer = torch.optim.Adam([*users.parameters(), *items.parameters()], lr=0.02)
window, now = Window(600), 0
for batch in range(60):
    now += 20 if batch != 37 else 3600
    u, i = torch.randint(200, (32,)), torch.randint(300, (32,))
    score = (users(u) * items(i)).sum(-1)
    loss = -nn.functional.logsigmoid(score).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if batch % 6 == 5:
        print(f"batch {batch:3d} bpr {loss.item():.4f} hit@10 {window.rate(now):.3f}", flush=True)
    if batch != 41:
        window.add(now, random.random() < 0.4)
    if batch > 40:
        now += 700
