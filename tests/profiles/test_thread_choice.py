"""Threads that a profile shows: the main thread always, and the busiest of the others."""

from __future__ import annotations

import pytest

from gpualert_common.profiles.sampled_stacks import ThreadStacks, parse_samples
from gpualert_common.profiles.thread_choice import MOST_THREADS, choose_threads
from tests.profiles.composed_profiles import MAIN, write_output

PID = 1000
SECOND = 10**9
POOL = [ThreadStacks(PID + number, "pool", {(MAIN,): 9}) for number in range(1, 100)]


@pytest.mark.parametrize("tid", [PID, 1], ids=["number", "name"])
def test_main_thread(tid: int) -> None:
    """The main thread is found wherever it is in py-spy's output, by its number or its name."""
    names = [f'Thread {one.tid} "pool"' for one in POOL]
    names.append(f'Thread {tid} "{"MainThread" if tid != PID else "renamed"}"')
    output = write_output([("<module>", "/job/train.py", 1)], {one: [[0]] for one in names})
    shown = choose_threads(parse_samples(output), PID, None, 10.0)
    assert shown.main is not None
    assert shown.main.tid == tid
    assert len(shown.others) == MOST_THREADS - 1
    assert shown.left_out == len(POOL) - len(shown.others)


def test_no_main_thread() -> None:
    """No other thread stands in for a main thread without samples."""
    shown = choose_threads(POOL[:3], PID, None, 10.0)
    assert shown.main is None
    assert list(shown.others) == [
        choose_threads([one], PID, None, 10.0).others[0] for one in POOL[:3]
    ]


def test_busy_threads() -> None:
    """Of more busy threads than fit the busiest are shown, and idle ones take no place of them."""
    used = {one.tid: one.tid * SECOND for one in POOL[20:]} | {one.tid: 0 for one in POOL[:20]}
    shown = choose_threads(POOL, PID, used, 10.0)
    assert [one.tid for one in shown.others] == [one.tid for one in POOL[:-MOST_THREADS:-1]]
    assert (shown.idle, shown.left_out) == (20, 79 - len(shown.others))
