# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# why = "the checkpoint of an older version holds an object that torch.load refuses by default"
# ///
"""The checkpoint holds the options as an object, which the safe loader refuses."""

import argparse
import random

import numpy as np
import torch

model = torch.nn.GRUCell(4, 4)
args = argparse.Namespace(lr=0.1, seed=3, name="gru")
checkpoint = {
    "model": model.state_dict(),
    "args": args,
    "rng": [random.getstate(), np.random.get_state()],
    "best_score": np.float64(0.812),
}
torch.save(checkpoint, "old_run.pt")
print("| model gru, parameters", sum(p.numel() for p in model.parameters()))
print("| loading old_run.pt")
state = torch.load("old_run.pt", map_location="cpu")
model.load_state_dict(state["model"])
print("| resumed, best score", state["best_score"])
