# /// case
# cause = "checkpoint"
# paper_class = "file_not_found"
# exit_code = 1
# why = "the file that is not there is the checkpoint to resume from"
# ///
"""The checkpoint named with --resume was deleted by a clean-up."""

import argparse
import os

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--resume", default="exp/vit_s/ckpt_epoch_0040.pth")
parser.add_argument("--epochs", type=int, default=100)
args = parser.parse_args()
os.makedirs(os.path.dirname(args.resume), exist_ok=True)
print(args)
model = torch.nn.Linear(5, 5)
scaler = torch.amp.GradScaler("cuda")
print("Resuming training from", args.resume)
checkpoint = torch.load(args.resume, map_location="cpu")
model.load_state_dict(checkpoint["model"])
for epoch in range(checkpoint["epoch"] + 1, args.epochs):
    print("Epoch", epoch)
