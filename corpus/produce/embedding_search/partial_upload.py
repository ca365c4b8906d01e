# /// case
# cause = "checkpoint"
# exit_code = 1
# paper_class = "traceback"
# why = "the weights to continue from end after a part of the file; safetensors finds its header's promise broken"
# ///
"""The fine-tuned tower was copied while it was being written."""

import argparse
import pathlib

import torch
from safetensors.torch import load_model, save_model
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--from", dest="source", default="towers/round-2/model.safetensors")
args = parser.parse_args()

tower = nn.ModuleDict({"query": nn.Linear(64, 64), "passage": nn.Linear(64, 64)})
file = pathlib.Path(args.source)
file.parent.mkdir(parents=True)
save_model(tower, str(file))
file.write_bytes(file.read_bytes()[:20000])

print(f"two towers, {sum(p.numel() for p in tower.parameters())} parameters")
print(f"continue from {file} ({file.stat().st_size} bytes), torch {torch.__version__}")
missing, unexpected = load_model(tower, str(file))
print("missing", missing, "unexpected", unexpected)
