# mypy: ignore-errors
"""A small regression with DeepSpeed's engine on the CPU."""

import argparse
import os

import deepspeed
import torch
from deepspeed.ops import __compatible_ops__
from deepspeed.utils.logging import set_log_level_from_string

# There is no compiler: keep to plain gloo.
__compatible_ops__["deepspeed_shm_comm"] = False

parser = argparse.ArgumentParser()
parser.add_argument("--output", default="out")
parser.add_argument("--local_rank", type=int, default=0)
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--rate", type=float, default=0.05)
parser.add_argument("--print", action="store_true", dest="prints", help="the loss, every 10 steps")
parser.add_argument(
    "--info", action="store_true", help="print what earlier releases print by default"
)
parser.add_argument("--half", action="store_true")
parser.add_argument("--breakdown", action="store_true")
parser.add_argument("--save-every", type=int, default=50)
parser.add_argument("--resume", action="store_true")
options = parser.parse_args()

if options.info:
    set_log_level_from_string("info", deepspeed.utils.logger)
torch.manual_seed(0)
torch.set_num_threads(1)
config = {
    "train_micro_batch_size_per_gpu": 8,
    "steps_per_print": 10,
    "wall_clock_breakdown": options.breakdown,
    "fp16": {"enabled": options.half, "initial_scale_power": 16, "min_loss_scale": 4096},
    "zero_optimization": {"stage": 0},
}
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=options.rate)
engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
start = 0
if options.resume:
    path, state = engine.load_checkpoint(options.output)
    start = engine.global_steps
for step in range(start + 1, options.steps + 1):
    inputs = torch.randn(8, 8).to(torch.float16 if options.half else torch.float32)
    target = inputs.sum(1, keepdim=True) + 0.3 * torch.randn_like(inputs[:, :1])
    loss = (engine(inputs) - target).square().mean()
    engine.backward(loss)
    engine.step()
    if options.prints and step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
    if step % options.save_every == 0:
        engine.save_checkpoint(options.output, tag=f"global_step{step}")
if os.environ.get("WORLD_SIZE"):
    torch.distributed.destroy_process_group()
