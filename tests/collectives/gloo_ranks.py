"""Program: real ranks with Gloo that come to a halt, and write their flight recorder dumps.

Arguments: a folder, and the faults to run one after the other.  Each fault has four ranks, forked
from one process, and a folder of its own with the files ``rank_N``.  A rank that stands still waits
until all others have given up.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import torch
import torch.distributed as dist

RECORDER = import_module("torch._C._distributed_c10d")
RANKS = 4
ODD = 2
TIMEOUT_S = 1


class Signals(NamedTuple):
    """Pipes that end: ``alive`` once all others have exited, ``begun`` once the odd rank has begun
    its call and closed ``begin``."""

    alive: int
    begun: int
    begin: int


def write_dump(folder: Path, rank: int) -> None:
    """Write the dump of this process."""
    (folder / f"rank_{rank}").write_bytes(RECORDER._dump_fr_trace(includeStackTraces=False))


def run_rank(rank: int, fault: str, folder: Path, signals: Signals) -> None:
    """Run one rank to its end, and write its dump."""
    # A file as the store: with one of TCP, the others would fail when rank 0 exits.
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=RANKS,
        timeout=timedelta(seconds=TIMEOUT_S),
    )
    pair = dist.new_group([1, ODD], timeout=timedelta(seconds=TIMEOUT_S))
    try:
        for _step in range(3):
            if rank in (1, ODD):
                dist.all_reduce(torch.ones(8), group=pair)
            dist.all_reduce(torch.ones(1024))
        fail(rank, fault, folder, pair, signals)
        for _step in range(2):
            dist.all_reduce(torch.ones(1024))
            dist.broadcast(torch.ones(5), 0)
    except RuntimeError as error:
        print(f"{fault}, rank {rank}: {error}", file=sys.stderr, flush=True)
    write_dump(folder, rank)


def fail(rank: int, fault: str, folder: Path, pair: dist.ProcessGroup, signals: Signals) -> None:
    """Do what the fault is; the odd rank does something else than the others."""
    if fault == "chain" and rank == 1:
        dist.all_reduce(torch.ones(8), group=pair)
    if rank != ODD:
        if fault == "size":
            os.read(signals.begun, 1)
        return
    if fault in ("asleep", "chain"):
        os.read(signals.alive, 1)
        raise RuntimeError("woken by the end of the others")
    if fault == "operation":
        dist.all_gather([torch.ones(1024) for _rank in range(RANKS)], torch.ones(1024))
    elif fault == "size":  # Gloo aborts the process at the first message that is too long
        work = dist.all_reduce(torch.ones(1000), async_op=True)
        write_dump(folder, rank)
        os.close(signals.begin)
        work.wait()
    elif fault == "skipped":
        dist.broadcast(torch.ones(5), 0)


def run_fault(fault: str, folder: Path) -> None:
    """Run all ranks of one fault."""
    folder.mkdir(parents=True)
    alive, others = os.pipe()
    begun, begin = os.pipe()
    pids = []
    for rank in range(RANKS):
        if pid := os.fork():
            pids.append(pid)
            continue
        os.close(others if rank == ODD else begin)
        try:
            run_rank(rank, fault, folder, Signals(alive, begun, begin))
        finally:
            os._exit(0)
    for end in (others, begin):
        os.close(end)
    for pid in pids:
        os.waitpid(pid, 0)
    for end in (alive, begun):
        os.close(end)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        run_fault(name, Path(sys.argv[1]) / name)
