# /// case
# cause = "config"
# paper_class = "runtime_error"
# exit_code = 1
# command = "python {program} --device cude:0"
# ///
"""The name of the device is misspelt."""

import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda:0")
parser.add_argument("--hidden", type=int, default=32)
args = parser.parse_args()
print("using", args.device)
model = torch.nn.GRU(8, args.hidden).to(args.device)
print(model)
