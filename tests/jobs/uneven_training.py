"""A training in which one rank has more to do as the arguments say: MODE RANK STOP_FILE.

It ends once the file exists.  All ranks average their gradients in every step.
"""

import os
import sys
import time

import torch
import torch.distributed as dist

mode, culprit, stop_file = sys.argv[1], int(sys.argv[2]), sys.argv[3]
rank = int(os.environ["RANK"])
EXTRA_S = 0.3
"""Time that the slow rank loses in a step; the others work for 0.06 s."""
EVALUATES_FROM, EVALUATES_S = 100, 8.0


def compute(duration_s: float) -> None:
    """Multiply matrices."""
    matrix = torch.randn(100, 100)
    end = time.monotonic() + duration_s
    while time.monotonic() < end:
        matrix = (matrix @ matrix).clamp(-1.0, 1.0)


def wait_for_disk(duration_s: float) -> None:
    """Write to the disk again and again, and wait until it has the data."""
    end = time.monotonic() + duration_s
    with open(f"{stop_file}.{rank}", "wb", buffering=0) as file:
        while time.monotonic() < end:
            file.write(bytes(1 << 20))
            os.fsync(file.fileno())
            file.seek(0)


def do_extra_work(step: int) -> None:
    """Do what only one rank does."""
    if rank != culprit:
        return
    if mode == "sleeps":
        time.sleep(EXTRA_S)
    elif mode == "computes":
        compute(EXTRA_S)
    elif mode == "waits for its disk":
        wait_for_disk(EXTRA_S)
    elif mode == "evaluates" and step == EVALUATES_FROM:
        compute(EVALUATES_S)
    elif mode == "is a little slower":
        time.sleep(0.01)


def train() -> None:
    """Train until the file exists, of which the first rank informs the others."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    weights = torch.zeros(64, requires_grad=True)
    is_over, step = torch.zeros(1), 0
    while not is_over.item():
        step += 1
        do_extra_work(step)
        compute(0.02)
        time.sleep(0.04)
        loss = ((weights - 1.0) ** 2).mean()
        loss.backward()
        dist.all_reduce(weights.grad)
        with torch.no_grad():
            weights -= 0.01 * weights.grad / dist.get_world_size()
            weights.grad.zero_()
        if rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
            is_over.fill_(float(os.path.exists(stop_file)))
        dist.broadcast(is_over, 0)
    dist.destroy_process_group()


train()
