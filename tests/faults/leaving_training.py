"""A training that the last rank leaves, as the argument says, once a file exists."""

import os
import signal
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist


def is_time() -> bool:
    """Return whether the file exists: the same on all ranks, as rank 0 sees it."""
    flag = torch.tensor([float(os.path.exists(sys.argv[2]))])
    dist.broadcast(flag, 0)
    return bool(flag.item())


def killed() -> None:
    """End by SIGKILL."""
    os.kill(os.getpid(), signal.SIGKILL)


def crashed() -> None:
    """End by a bad address in native code."""
    os.kill(os.getpid(), signal.SIGSEGV)


def left() -> None:
    """End with exit status 0."""
    sys.exit(0)


def closed() -> None:
    """Close the connections, and go on with other work."""
    dist.destroy_process_group()
    time.sleep(1000)


def gave_up() -> None:
    """End with an exit status and without a word."""
    os._exit(13)


def skipped() -> None:
    """Leave out the collective, and be done one step before the others."""


def other_size() -> None:
    """Take part in the collective with another size."""
    dist.all_reduce(torch.ones(7))


ENDS: dict[str, Callable[[], None]] = {
    one.__name__: one for one in (killed, crashed, left, closed, gave_up, skipped, other_size)
}

dist.init_process_group("gloo")
step, last = 0, None
while last is None or step < last:
    if last is None and is_time():
        last = step + 20
        if dist.get_rank() == dist.get_world_size() - 1:
            ENDS[sys.argv[1]]()
            step += 1
            continue
    dist.all_reduce(torch.ones(4))
    if dist.get_rank() == 0 and step % 50 == 0:
        print(f"step {step} loss {1 / (step + 1):.4f}", flush=True)
    step += 1
    time.sleep(0.01)
dist.destroy_process_group()
