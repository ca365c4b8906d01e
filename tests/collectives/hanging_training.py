"""Program: a training of several ranks with Gloo, one of which falls asleep in its data loader.

Each rank writes the dump of its flight recorder to the file that PyTorch's variable names, when its
collective times out or when it is stopped.
"""

from __future__ import annotations

import os
import signal
import time
from datetime import timedelta
from importlib import import_module

import torch
import torch.distributed as dist

RECORDER = import_module("torch._C._distributed_c10d")
RANK = int(os.environ["RANK"])
SLEEPER = 1


def write_dump(*_signal: object) -> None:
    """Write the dump, and exit."""
    with open(f"{os.environ['TORCH_FR_DUMP_TEMP_FILE']}{RANK}", "wb") as file:
        file.write(RECORDER._dump_fr_trace(includeStackTraces=False))
    if _signal:
        os._exit(1)


def load_batch(step: int) -> torch.Tensor:
    """Return a batch; that of the sleeper does not come."""
    if RANK == SLEEPER and step == 3:
        time.sleep(3600)
    return torch.ones(16)


signal.signal(signal.SIGTERM, write_dump)
dist.init_process_group("gloo", timeout=timedelta(seconds=8))
try:
    for step in range(10):
        gradient = load_batch(step)
        dist.all_reduce(gradient)
        if RANK == 0:
            print(f"step {step} loss {2.0 - 0.1 * step:.2f}", flush=True)
except RuntimeError:
    write_dump()
    raise
