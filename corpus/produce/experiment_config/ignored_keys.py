# /// case
# cause = "none"
# exit_code = 0
# why = "unknown settings are ignored with warnings"
# ///
"""A configuration full of alarming words and unknown keys; the training ends well."""

import json
import sys

import numpy as np

KNOWN = {
    "lr",
    "epochs",
    "seed",
    "check_for_nan_in_loss_and_grad",
    "kill_on_bad_exit",
    "error_injection_rate",
}
config = {
    "lr": 0.2,
    "epochs": 5,
    "seed": 1,
    "check_for_nan_in_loss_and_grad": True,
    "kill_on_bad_exit": 1,
    "error_injection_rate": 0,
    "oom_retry": 3,
    "segfault_handler": "core",
    "nccl_timeout_s": 1800,
}
print("config:", json.dumps(config, indent=4))
for key in sorted(set(config) - KNOWN):
    print(f"WARNING: invalid option {key!r} ignored: no such parameter", file=sys.stderr)
rng = np.random.default_rng(config["seed"])
w = np.zeros(3)
for epoch in range(config["epochs"]):
    x = rng.normal(size=(200, 3))
    error = x @ (w - 1)
    w -= config["lr"] * x.T @ error / len(x)
    print(f"epoch {epoch} loss {np.mean(error**2):.5f} | failed batches 0 | exceptions 0")
print("run finished, exit status 0")
