"""Cost of an alert at the end of a failed run."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Row, interleave

FAILS = ["/bin/sh", "-c", "echo it broke; exit 3"]


def measure(bench: Bench) -> Row:
    """Measure the wall time of `gpualert run` with a child that fails at once, by channel."""
    row = Row("a failed run and its alert")
    ways = {
        "without a channel": _seconds(bench, "none"),
        "in the mailbox": _seconds(bench, "mailbox"),
        "not waited for": _seconds(bench, "mailbox", "--notify-deadline", "0"),
    }
    for name, figures in interleave(ways, bench.amount(15, 1)).items():
        row.add(name, figures, "ms")
    return row


def _seconds(bench: Bench, channel: str, *options: str) -> Callable[[], float]:
    command = [bench.ours.program, "run", "--quiet", "--notify", channel, *options, "--", *FAILS]

    def run() -> float:
        began = time.perf_counter()
        subprocess.run(command, cwd=bench.scratch, env=bench.environment, stdout=subprocess.DEVNULL)
        return (time.perf_counter() - began) * 1000

    return run
