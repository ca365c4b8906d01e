"""Time to list many runs."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Row

RUNS = 10_000
MOST_S = 1.0
"""Longer, and a person waits."""


def measure(bench: Bench) -> Row:
    """Measure the wall time of ``gpualert runs``, the first time and later."""
    count = bench.amount(RUNS, 60)
    row = Row(f"list of {count} runs")
    make_runs(bench, count)
    row.add("first list", [_seconds(bench)], "s")
    rounds = range(bench.amount(10, 1))
    later = row.add("later lists", [_seconds(bench) for _round in rounds], "s")
    row.add("the newest 20", [_seconds(bench, "-n", "20") for _round in rounds], "s")
    row.promise("later lists", later.median, MOST_S, "s")
    return row


def make_runs(bench: Bench, count: int) -> None:
    """Make the records of so many runs, copies of one that failed."""
    failing = ["sh", "-c", "echo MemoryError; exit 1"]
    command = [bench.ours.program, "run", "--quiet", "--notify-on", "never", "--", *failing]
    subprocess.run(command, cwd=bench.scratch, env=bench.environment, stdout=subprocess.DEVNULL)
    runs = Path(bench.environment["GPUALERT_STATE_DIR"], "runs")
    (source,) = runs.iterdir()
    for number in range(count - 1):
        second = time.strftime("%Y%m%d-%H%M%S", time.gmtime(1_600_000_000 + 60 * number))
        copy = runs / f"{second}-000000-aaaa"
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns(".*"))  # reserved space


def _seconds(bench: Bench, *options: str) -> float:
    began = time.perf_counter()
    subprocess.run(
        [bench.ours.program, "runs", *options],
        env=bench.environment,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - began
