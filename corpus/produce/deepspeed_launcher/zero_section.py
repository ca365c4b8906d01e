# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# command = "deepspeed --num_gpus 1 --master_port 29714 {program}"
# env = {DS_ACCELERATOR = "cpu"}
# ///
"""The ZeRO section has a value that its schema refuses."""

import argparse

import deepspeed
import torch
from deepspeed.ops import __compatible_ops__

# The nodes have no compiler: keep to plain gloo.
__compatible_ops__["deepspeed_shm_comm"] = False

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
parser.parse_args()
config = {
    "train_micro_batch_size_per_gpu": 2,
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
    "zero_optimization": {"stage": 5, "offload_param": {"device": "gpu"}},
}
model = torch.nn.Linear(4, 4)
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
