# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program} run --config exp.yaml"
# needs = ["root"]
# ///
"""loguru may not open the log file of the run, which belongs to another member of the group."""

import argparse
import os
import sys

import torch
import yaml
from loguru import logger

os.makedirs("runs/baseline", exist_ok=True)
with open("runs/baseline/train.log", "w") as file:
    file.write("earlier run\n")
os.chmod("runs/baseline/train.log", 0o444)
with open("exp.yaml", "w") as file:
    yaml.safe_dump({"name": "baseline", "out": "runs", "seed": 3, "fail_fast": False}, file)


def command_run(asked):
    with open(asked.config) as file:
        config = yaml.safe_load(file)
    logger.info("config: {}", config)
    torch.manual_seed(config["seed"])
    model = torch.nn.Linear(4, 4)
    logger.info("model built, {} tensors", len(list(model.parameters())))
    logger.add(os.path.join(config["out"], config["name"], "train.log"), rotation="10 MB")
    for step in range(10):
        logger.info("step {} loss {:.4f}", step, model(torch.randn(2, 4)).square().mean().item())


def main():
    parser = argparse.ArgumentParser(prog="forge")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--config", required=True)
    run.set_defaults(function=command_run)
    asked = parser.parse_args()
    try:
        asked.function(asked)
    except Exception:
        logger.opt(exception=True).critical("command {!r} failed", asked.command)
        sys.exit(1)


main()
