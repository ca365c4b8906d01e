"""A training of several nodes in which one rank fails as the arguments say: MODE RANK STEPS.

The ranks of the other nodes do nothing but train: what they report follows from the fault.
"""

import importlib
import os
import signal
import sys
import time
from datetime import timedelta

mode, culprit, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rank = int(os.environ["RANK"])
if mode == "wrong_module" or (mode == "missing_module" and rank == culprit):
    importlib.import_module("a_module_that_nobody_has")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402


def load_shard(path: str) -> torch.Tensor:
    """Read a part of the data set."""
    with open(path, "rb") as file:
        return torch.frombuffer(bytearray(file.read()), dtype=torch.float32)


def wait_for_lock() -> None:
    """Wait, as for a lock that nobody releases."""
    time.sleep(1000)


def fail_at(step: int) -> None:
    """Fail as the mode says, on the rank and at the step that the arguments name."""
    if step != steps // 2 or rank != culprit:
        return
    if mode == "raise":
        load_shard("/data/shard-17.bin")
    elif mode == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif mode == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif mode == "hang":
        wait_for_lock()


def train() -> None:
    """Train a layer with averaged gradients."""
    dist.init_process_group("gloo", timeout=timedelta(seconds=float(os.environ["PEER_TIMEOUT_S"])))
    torch.manual_seed(0)
    weights = torch.zeros(64, requires_grad=True)
    target = torch.randn(64)
    for step in range(1, steps + 1):
        fail_at(step)
        if mode == "slow" and rank == culprit:
            time.sleep(0.2)
        loss = ((weights - target) ** 2).mean()
        if mode == "diverge" and step > steps // 2:
            loss = loss * float("nan")
        loss.backward()
        dist.all_reduce(weights.grad)
        with torch.no_grad():
            weights -= 0.5 * weights.grad / dist.get_world_size()
            weights.grad.zero_()
        if rank == 0:
            print(f"step {step}/{steps} loss {loss.item():.4f}", flush=True)
        time.sleep(0.05)
        if mode == "diverge" and step > steps - 2:
            raise FloatingPointError(f"loss is {loss.item()} at step {step}")
    dist.destroy_process_group()


train()
