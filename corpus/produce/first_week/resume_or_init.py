# /// case
# cause = "config"
# exit_code = 2
# command = "python {program} --data shards --epochs 3 --resume last.pt --init-from base.pt"
# ///
"""Two options are given that exclude each other."""

import argparse

import torch

parser = argparse.ArgumentParser(
    prog="train.py", description="Train the ranking model.", epilog="See docs/training.md."
)
parser.add_argument("--data", required=True, metavar="DIR")
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--loss", choices=["hinge", "logistic"], default="hinge")
start = parser.add_mutually_exclusive_group()
start.add_argument("--resume", metavar="CKPT", help="go on with optimizer state and step")
start.add_argument("--init-from", metavar="CKPT", help="take the weights only")
args = parser.parse_args()

model = torch.nn.Linear(16, 1)
if args.resume:
    model.load_state_dict(torch.load(args.resume)["model"])
elif args.init_from:
    model.load_state_dict(torch.load(args.init_from), strict=False)
print("parameters:", sum(p.numel() for p in model.parameters()))
