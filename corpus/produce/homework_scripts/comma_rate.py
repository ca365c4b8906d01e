# /// case
# cause = "config"
# exit_code = 2
# command = "python {program} --epochs 20 --lr 0,01 --hidden 64"
# ///
"""The learning rate is typed with a decimal comma."""

import argparse

import numpy as np

print("=== ML1 assignment 2 / numpy", np.__version__, "===", flush=True)
parser = argparse.ArgumentParser(description="Train the perceptron of assignment 2")
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--lr", type=float, default=0.1, help="learning rate")
parser.add_argument("--hidden", type=int, default=16)
parser.add_argument("--plot", action="store_true")
args = parser.parse_args()
for epoch in range(args.epochs):
    print(epoch, args.lr / (1 + epoch))
