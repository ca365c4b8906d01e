"""Processes that use one store at once."""

from __future__ import annotations

import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier

from gpualert_common.job_store import open_store

_LIMIT_S = 60.0


def race(place: str, processes: int, rounds: int) -> list[int]:
    """Return, for each round, how many of the processes created the one name of that round."""
    # A client of S3 has threads, which do not survive a fork.
    context = multiprocessing.get_context("spawn" if "://" in place else "fork")
    barrier = context.Barrier(processes)
    results: SimpleQueue[list[bool]] = context.SimpleQueue()
    children = [
        context.Process(target=_create_all, args=(place, number, rounds, barrier, results))  # type: ignore[attr-defined]
        for number in range(processes)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * processes
    won = [results.get() for _child in children]
    return [sum(of_one[turn] for of_one in won) for turn in range(rounds)]


def fork(work: Callable[[], None]) -> int:
    """Return the id of a process that does the work, and exits with 0 unless it raises."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # noqa: BLE001 - the parent sees the status, and people the traceback
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _create_all(
    place: str, number: int, rounds: int, barrier: Barrier, results: SimpleQueue[list[bool]]
) -> None:
    store = open_store(place)
    store.write(f"race/ready-{number}.json", b"1")
    won = []
    for turn in range(rounds):
        barrier.wait(_LIMIT_S)
        won.append(store.create(f"race/{turn}.json", f'"{number} in {turn}"'.encode()))
    results.put(won)
