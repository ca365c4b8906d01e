"""Time of a dump of the stacks of many processes, and how long each process is paused for it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Row

RANKS = 64
MOST_S = 2.0
"""A stop waits no longer for a dump."""
_START_RANKS = 'for rank in $(seq 1 "$0"); do RANK=$rank "$@" & done; wait'
_BEGIN_WITHIN_S = 60.0


def measure(bench: Bench) -> Row:
    """Measure ``gpualert stacks`` for a run of many ranks, without a pause and with one."""
    count = bench.amount(RANKS, 2)
    row = Row(f"stacks of {count} ranks")
    with many_ranks(bench, count):
        rounds = range(bench.amount(10, 1))
        found = {options: [_take(bench, *options) for _round in rounds] for options in _OPTIONS}
    for options, name in _OPTIONS.items():
        seconds = row.add(f"the command{name}", [one for one, _dump in found[options]], "s")
        dumps = [dump for _one, dump in found[options]]
        row.add(f"the dump{name}", [dump["took_ms"] for dump in dumps], "ms")
        if not options:
            row.promise("the command", seconds.median, MOST_S, "s")
    paused = [one.get("paused_ms", 0) for dump in dumps for one in dump["processes"]]
    row.add("pause of a process", paused, "ms")
    row.notes.append("the ranks are programs of Python that print a line a second")
    return row


_OPTIONS: dict[tuple[str, ...], str] = {(): "", ("--pause",): ", with a pause"}


@contextmanager
def many_ranks(bench: Bench, count: int) -> Iterator[None]:
    """Run so many ranks."""
    ranks = ["sh", "-c", _START_RANKS, str(count), *bench.child("quiet", 1000)]
    process = subprocess.Popen(
        [bench.ours.program, "run", "--", *ranks],
        cwd=bench.scratch,
        env=bench.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + _BEGIN_WITHIN_S
        while _count_ranks(_take(bench)[1]) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{count} ranks did not begin")
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _take(bench: Bench, *options: str) -> tuple[float, dict[str, Any]]:
    """Return the seconds of the command, and its dump; an empty one before the run has begun."""
    began = time.perf_counter()
    done = subprocess.run(
        [bench.ours.program, "stacks", "--json", *options],
        env=bench.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - began
    found = json.loads(done.stdout)["dumps"] if done.returncode == 0 else []
    return seconds, found[0] if found else {}


def _count_ranks(dump: dict[str, Any]) -> int:
    """Return the number of ranks with a known stack."""
    return sum(
        one.get("label", "").startswith("rank:") and one["threads"][0].get("stack") is not None
        for one in dump.get("processes", ())
    )
