"""Time until ``gpualert run`` has started the child."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Row, interleave

Delay = tuple[float, float]
"""Milliseconds from our start to the child's stamp, and to our end."""


def measure(bench: Bench) -> Row:
    """Measure the time from the start of the program to the child's stamp, less the stamp
    itself."""
    row = Row("the program, from its start to the child's start")
    child = stamping_child(bench)
    python = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
    commands = {
        "the child alone": child,
        "bare interpreter": [bench.ours.python, "-c", python, *child],
        "gpualert run": [bench.ours.program, "run", "--", *child],
    }
    if bench.peer is not None:
        commands["peer's gpualert run"] = [
            *(bench.peer.program, "run", "--no-notify", "--"),
            *child,
        ]
    ways = {name: time_start(bench, command) for name, command in commands.items()}
    interleave(ways, 1)
    found = interleave(ways, bench.amount(40, 2))
    alone = row.add("the child alone", [delay[0] for delay in found["the child alone"]], "ms")
    for name in list(commands)[1:]:
        row.add(name, [delay[0] - alone.median for delay in found[name]], "ms")
        row.add(f"{name}, to its end", [delay[1] for delay in found[name]], "ms")
    if bench.peer is not None:
        peer = row.entries["peer's gpualert run"].median
        row.promise("1/4 of peer's", row.entries["gpualert run"].median, peer / 4, "ms", base=peer)
    row.notes.append("the child alone is `sh -c 'date > FILE'`; the others are less its median")
    return row


def stamping_child(bench: Bench) -> list[str]:
    """Return the child: `date` is in every system and starts in a millisecond."""
    return ["/bin/sh", "-c", 'date +%s%N > "$0"', str(bench.notes / "stamp")]


def time_start(bench: Bench, command: list[str]) -> Callable[[], Delay]:
    """Return a function that runs a command with :func:`stamping_child`."""
    environment, stamp = bench.environment, bench.notes / "stamp"

    def run() -> Delay:
        began_ns = time.time_ns()
        subprocess.run(
            command,
            cwd=bench.scratch,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        ended_ns = time.time_ns()
        return (int(stamp.read_text()) - began_ns) / 1e6, (ended_ns - began_ns) / 1e6

    return run
