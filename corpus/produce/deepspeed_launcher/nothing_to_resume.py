# /// case
# cause = "checkpoint"
# paper_class = "runtime_error"
# exit_code = 1
# command = "deepspeed --num_gpus 1 --master_port 29715 {program}"
# env = {DS_ACCELERATOR = "cpu"}
# why = "the checkpoint to resume is absent; the program refuses to start afresh"
# ///
"""The folder to resume from holds no checkpoint, and the program refuses to start afresh."""

import argparse

import deepspeed
import torch
from deepspeed.ops import __compatible_ops__

# The nodes have no compiler: keep to plain gloo.
__compatible_ops__["deepspeed_shm_comm"] = False

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
parser.add_argument("--resume", default="output/checkpoints")
args = parser.parse_args()
config = {"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 0}}
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
path, state = engine.load_checkpoint(args.resume)
if path is None:
    raise RuntimeError(f"--resume was given but nothing could be loaded from {args.resume}")
