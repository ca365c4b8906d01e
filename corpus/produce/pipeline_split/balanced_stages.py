# /// case
# cause = "div_zero"
# exit_code = 1
# why = "nothing in the log says why a stage has no work"
# ///
"""The imbalance of the stages divides by the quickest one, whose time is rounded down to zero."""

import logging
import sys

import torch
from torch import nn

logging.basicConfig(
    level=logging.INFO, stream=sys.stderr, format="%(name)s - %(levelname)s - %(message)s"
)
log = logging.getLogger("pipeline.balance")


def cost(stage, unit):
    return sum(p.numel() for p in stage.parameters()) // unit


def imbalance(stages, unit):
    costs = [cost(stage, unit) for stage in stages]
    return max(costs) / min(costs)


def cut(layers, sizes):
    start = 0
    for size in sizes:
        yield nn.Sequential(*layers[start : start + size])
        start += size


layers = [nn.Linear(128, 128) for _ in range(8)] + [nn.LayerNorm(128), nn.Linear(128, 10)]
for sizes in ((5, 5), (4, 4, 2), (3, 3, 2, 1, 1)):
    log.info("trying %d stages", len(sizes))
    ratio = imbalance(list(cut(layers, sizes)), unit=1024)
    log.info("imbalance of %d stages: %.3f", len(sizes), ratio)
print("chosen", torch.__version__)
