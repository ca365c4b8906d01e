# /// case
# cause = "config"
# paper_class = ""
# exit_code = 1
# why = "a key that the configuration lacks, after it was printed"
# ///
"""The configuration lacks a key that only the scheduler reads, after one epoch."""

import json

import numpy as np

CONFIG = {"model": {"width": 4}, "optim": {"lr": 0.1}, "epochs": 3}


def decay(config, epoch):
    return config["optim"]["lr"] * config["optim"]["gamma"] ** epoch


def train(config):
    print(json.dumps(config, indent=2))
    rng = np.random.default_rng(0)
    w, lr = np.zeros(config["model"]["width"]), config["optim"]["lr"]
    for epoch in range(config["epochs"]):
        x = rng.normal(size=(100, len(w)))
        error = x @ w - x.sum(1)
        w -= lr * x.T @ error / len(x)
        print(f"epoch {epoch} mse {np.mean(error**2):.4f} lr {lr:.4f}")
        try:
            lr = decay(config, epoch)
        except KeyError as error:
            raise SystemExit(f"error in config: section 'optim' has no key {error}")


train(CONFIG)
