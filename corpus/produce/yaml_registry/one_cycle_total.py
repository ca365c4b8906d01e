# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# why = "the schedule of the YAML counts fewer steps than its epochs and batches make; no line of the program is wrong"
# ///
"""The total_steps of the schedule in the YAML file do not cover the epochs that the same file asks for."""

import sys

import torch
import yaml
from loguru import logger
from rich import traceback

traceback.install(width=100, extra_lines=1)
logger.remove()
logger.add(sys.stdout, format="<level>{level: <8}</level>| {message}", colorize=False)

CONFIG = """
model: {type: mlp, hidden: 32}
optimizer: {type: SGD, lr: 0.1, momentum: 0.9}
schedule: {type: OneCycleLR, max_lr: 0.4, total_steps: 60}
runner: {epochs: 4, batches_per_epoch: 20, log_interval: 10}
"""
BUILDERS = {}


def register(kind):
    return lambda builder: BUILDERS.setdefault(kind, builder)


@register("mlp")
def mlp(hidden):
    return torch.nn.Sequential(
        torch.nn.Linear(10, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 2)
    )


for module in (torch.optim, torch.optim.lr_scheduler):
    for name in ("SGD", "AdamW", "OneCycleLR", "StepLR"):
        if hasattr(module, name):
            BUILDERS[name] = getattr(module, name)


def build(section, *positional):
    options = dict(section)
    kind = options.pop("type")
    logger.debug("building {} with {}", kind, options)
    return BUILDERS[kind](*positional, **options)


def main():
    config = yaml.safe_load(CONFIG)
    model = build(config["model"])
    optimizer = build(config["optimizer"], model.parameters())
    schedule = build(config["schedule"], optimizer)
    runner, step = config["runner"], 0
    for epoch in range(runner["epochs"]):
        for _ in range(runner["batches_per_epoch"]):
            x = torch.randn(32, 10)
            loss = torch.nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1
            if step % runner["log_interval"] == 0:
                lr = schedule.get_last_lr()[0]
                logger.info("epoch {} step {} loss {:.4f} lr {:.5f}", epoch, step, loss.item(), lr)


main()
