# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# command = "deepspeed --num_gpus 1 --master_port 29713 {program}"
# env = {DS_ACCELERATOR = "cpu"}
# ///
"""The DeepSpeed configuration file misses a bracket."""

import deepspeed
import torch
from deepspeed.ops import __compatible_ops__

# The nodes have no compiler: keep to plain gloo.
__compatible_ops__["deepspeed_shm_comm"] = False

with open("ds.json", "w") as file:
    file.write(
        '{"train_batch_size": 8,\n "zero_optimization": {"stage": 2,\n "bf16": {"enabled": true}\n'
    )
model = torch.nn.Linear(4, 4)
engine, *_ = deepspeed.initialize(
    model=model, model_parameters=model.parameters(), config="ds.json"
)
print(engine.zero_optimization_stage())
