# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# why = "started without a launcher: its variables are missing"
# ///
"""The training script is started with python, so the launcher's variables are missing."""

import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--backend", default="gloo")
parser.add_argument("--lr", type=float, default=3e-4)
args = parser.parse_args()
print(f"torch {torch.__version__}, backend {args.backend}, lr {args.lr}")
dist.init_process_group(args.backend)
print("rank", dist.get_rank())
