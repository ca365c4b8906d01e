# /// case
# cause = "missing_module"
# exit_code = 1
# why = "the program says which package it requires"
# ///
"""The optimizer chosen in the configuration needs a package that is not installed."""

import importlib

import torch
import yaml

REGISTRY = {"adamw": "torch.optim", "lion": "lion_pytorch", "muon": "muon"}
config = yaml.safe_load("{optimizer: lion, lr: 0.0001, betas: [0.9, 0.99], weight_decay: 0.1}")


def get_optimizer(name):
    try:
        return importlib.import_module(REGISTRY[name])
    except ImportError:
        raise ImportError(
            f"The optimizer {name!r} requires the {REGISTRY[name]} library but it was not found in your environment. "
            f"You can install it with `pip install {REGISTRY[name].replace('_', '-')}`."
        ) from None


print("torch", torch.__version__)
print("config", config)
print(get_optimizer(config["optimizer"]))
