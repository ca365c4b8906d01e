# /// case
# cause = "none"
# exit_code = 0
# command = "deepspeed --num_gpus 1 --master_port 29716 {program}"
# env = {DS_ACCELERATOR = "cpu"}
# why = "warnings of the accelerator, of missing compilers and at shutdown; the work is done"
# ///
"""A short run on the CPU with the launcher's warnings ends well."""

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
    "train_micro_batch_size_per_gpu": 4,
    "steps_per_print": 5,
    "wall_clock_breakdown": False,
    "dump_state": True,
    "zero_optimization": {"stage": 0},
}
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
for step in range(15):
    loss = engine(torch.randn(4, 4)).square().mean()
    engine.backward(loss)
    engine.step()
    if step % 5 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
print("finished", flush=True)
