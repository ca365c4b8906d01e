# /// case
# cause = "data"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the held-out site grades with a third value that the binary task does not have"
# ///
"""The labels of the second hospital hold a grade 2, which the metric of the binary task finds in evaluation."""

import csv
import random

import torch
from loguru import logger
from torch import nn
from torchmetrics import MetricCollection
from torchmetrics.classification import BinaryAUROC, BinaryF1Score

torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)
for site, grades in (("north", (0, 1)), ("south", (0, 1, 2))):
    with open(f"{site}.csv", "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["age", "dose", "grade"])
        for _ in range(80):
            writer.writerow(
                [random.randint(20, 90), round(random.random(), 3), random.choice(grades)]
            )


def read(site):
    with open(f"{site}.csv") as rows:
        table = [[float(v) for v in row.values()] for row in csv.DictReader(rows)]
    table = torch.tensor(table)
    return (table[:, :2] - table[:, :2].mean(0)) / table[:, :2].std(0), table[:, 2].long()


model = nn.Linear(2, 1)
optimizer = torch.optim.LBFGS(model.parameters())
x, y = read("north")


def closure():
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(model(x)[:, 0], y.float())
    loss.backward()
    return loss


for step in range(5):
    logger.info("north step {} loss {:.4f}", step, optimizer.step(closure).item())
metrics = MetricCollection([BinaryAUROC(), BinaryF1Score()], prefix="test/")
for site in ("north", "south"):
    x_site, y_site = read(site)
    values = metrics(model(x_site).sigmoid()[:, 0].detach(), y_site)
    logger.success("{}: {}", site, {name: round(value.item(), 3) for name, value in values.items()})
    metrics.reset()
