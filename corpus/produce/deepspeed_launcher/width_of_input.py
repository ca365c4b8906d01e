# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# command = "deepspeed --num_gpus 1 --master_port 29717 {program}"
# env = {DS_ACCELERATOR = "cpu"}
# ///
"""After some good steps a batch of another width comes from the second data source."""

import argparse
import itertools

import deepspeed
import torch
from deepspeed.ops import __compatible_ops__

# The nodes have no compiler: keep to plain gloo.
__compatible_ops__["deepspeed_shm_comm"] = False

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
parser.parse_args()
config = {"train_micro_batch_size_per_gpu": 4, "gradient_clipping": 1.0, "steps_per_print": 2}
model = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
first = (torch.randn(4, 12) for _ in range(6))
second = (torch.randn(4, 14) for _ in range(6))
for step, batch in enumerate(itertools.chain(first, second)):
    loss = engine(batch).square().mean()
    engine.backward(loss)
    engine.step()
    print(f"step {step} loss {loss.item():.4f}", flush=True)
