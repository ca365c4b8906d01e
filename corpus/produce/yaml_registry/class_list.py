# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the table holds a label outside the classes, seen by the loss on the CPU"
# ///
"""The table of the second quarter has a label that is not among the classes; logged by the runner's guard."""

import csv
import io
import logging
import random
import sys
from dataclasses import dataclass

import torch
from rich.logging import RichHandler

logging.basicConfig(
    level="INFO", format="%(message)s", datefmt="[%X]", handlers=[RichHandler(show_path=False)]
)
log = logging.getLogger("forge")
DATASETS, MODELS = {}, {}


@dataclass
class TableDataset:
    path: str
    text: str

    def batches(self, size):
        rows = list(csv.reader(io.StringIO(self.text)))
        log.info("%s: %d rows", self.path, len(rows))
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            x = torch.tensor([[float(v) for v in row[:-1]] for row in part])
            yield x, torch.tensor([int(row[-1]) for row in part])


def table(seed, rows, stray=None):
    rng = random.Random(seed)
    lines = [
        [f"{rng.gauss(0, 1):.3f}" for _ in range(5)] + [str(rng.randrange(4))] for _ in range(rows)
    ]
    if stray:
        lines[stray][-1] = "4"
    return "\n".join(",".join(line) for line in lines)


DATASETS["q1"] = TableDataset("tables/2026q1.csv", table(1, 160))
DATASETS["q2"] = TableDataset("tables/2026q2.csv", table(2, 160, stray=101))
MODELS["linear"] = lambda classes: torch.nn.Linear(5, classes)


def fit(datasets, model, classes):
    net = MODELS[model](len(classes))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.02)
    for name in datasets:
        for i, (x, y) in enumerate(DATASETS[name].batches(20)):
            loss = torch.nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.info("%s batch %d loss %.3f", name, i, loss.item())


try:
    fit(["q1", "q2"], "linear", classes=["normal", "fault", "abort", "timeout"])
except Exception as error:
    log.error("training failed: %s: %s", type(error).__name__, error)
    sys.exit(1)
