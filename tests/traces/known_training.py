"""Training on CPU whose truth is known: it waits, sleeps, computes and communicates for set times.

Run by torchrun with a folder.  In each mode rank 1 takes longer by one kind of work; it writes its
trace, and the times that it measured itself, to ``MODE-RANK.json`` and ``MODE-RANK.times.json``.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, schedule

from tests.traces.known_plan import DELAY_S, MODES, OVERLAP, STEPS, USUAL_S


class SlowData:
    """Data of which each item takes a set time to read."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __len__(self) -> int:
        return STEPS + 1

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self._seconds)
        return torch.zeros(4)


class Times:
    """Times of the parts of the program, by its own clock."""

    def __init__(self) -> None:
        self.sums: Counter[str] = Counter()

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Add the time of the block."""
        start = time.perf_counter()
        yield
        self.sums[part] += time.perf_counter() - start  # type: ignore[assignment]


def train(mode: str, rank: int, profiler: Any) -> Times:
    """Make the steps, the first one as a warm-up, and return the times of the others."""
    seconds = {**USUAL_S}
    if rank == 1 and mode in seconds:
        seconds[mode] += DELAY_S
    left, right, gradient = torch.randn(200, 200), torch.randn(200, 200), torch.zeros(100_000)
    loader = iter(torch.utils.data.DataLoader(SlowData(seconds["input"])))
    times = Times()
    for step in range(STEPS + 1):
        if step == 1:
            times = Times()
        with times.measure("step"):
            with times.measure("input"):
                next(loader)
            with times.measure("sleep"):
                time.sleep(seconds["sleep"])
            with times.measure("compute"):
                end = time.perf_counter() + seconds["compute"]
                while time.perf_counter() < end:
                    left @ right
            with times.measure("communication"):
                dist.all_reduce(gradient)
        profiler.step()
    return times


def overlap(rank: int, profiler: Any) -> Times:
    """Make the steps in which rank 0 computes during its all_reduce, and return their times."""
    left, right, gradient = torch.randn(200, 200), torch.randn(200, 200), torch.zeros(100_000)
    times = Times()
    for step in range(STEPS + 1):
        if step == 1:
            times = Times()
        if rank == 1:
            time.sleep(USUAL_S["sleep"] + USUAL_S["compute"])
        with times.measure("communication"):
            work = dist.all_reduce(gradient, async_op=True)
            with times.measure("compute"):
                end = time.perf_counter() + (USUAL_S["compute"] if rank == 0 else 0)
                while time.perf_counter() < end:
                    left @ right
            work.wait()
        profiler.step()
    return times


def main(folder: Path) -> None:
    """Train in each mode, and write what this rank did."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for mode in (*MODES, OVERLAP):
        plan = schedule(wait=0, warmup=1, active=STEPS, repeat=1)
        activities = [ProfilerActivity.CPU]
        with profile(
            activities=activities, schedule=plan, record_shapes=True, with_stack=True
        ) as profiler:
            dist.barrier()
            times = overlap(rank, profiler) if mode == OVERLAP else train(mode, rank, profiler)
        profiler.export_chrome_trace(str(folder / f"{mode}-{rank}.json"))
        (folder / f"{mode}-{rank}.times.json").write_text(json.dumps(times.sums))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
