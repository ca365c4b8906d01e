"""Cost of a profile: the steps of the training that is sampled, and the command itself."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Callable

from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Row, interleave
from tests.benchmarks.stacks import many_ranks
from tests.benchmarks.step_times import NOTE, Window, has_torch, time_steps

MOST_STEP_PERCENT = 10.0
"""Of the step time of a training that is not sampled."""
RANKS = 8
_ROUNDS = 5
_SAMPLED_S = 5
_WAYS: dict[str, tuple[str, ...]] = {
    "sampled": (),
    "sampled with --native": ("--native",),
    "sampled with --native --rate 100": ("--native", "--rate", "100"),
}


def measure(bench: Bench) -> Row:
    """Measure the command for some ranks, and a training that is sampled and not in turn."""
    ranks, seconds = bench.amount(RANKS, 2), bench.amount(10, 1)
    row = Row(f"a profile of {ranks} ranks for {seconds} s")
    command = [bench.ours.program, "profile", "--json", "--duration", f"{seconds}s"]
    with many_ranks(bench, ranks):
        reports = [bench.meter(*command) for _round in range(bench.amount(5, 1))]
    wall = [(one["ended_ns"] - one["began_ns"]) / 1e9 for one in reports]
    row.add("the command", wall, "s")
    row.add("processor", [one["cpu_s"] for one in reports], "s")
    row.notes.append("the ranks are programs of Python that print a line a second")
    if bench.quick:
        row.notes.append("without the step time, which needs PyTorch")
    elif not has_torch():
        row.miss("step time", "PyTorch is not installed here")
    else:
        _measure_steps(bench, row)
    return row


def _measure_steps(bench: Bench, row: Row) -> None:
    ways: dict[str, Callable[[], float]] = {"not sampled": time_steps(bench)}
    for name, options in _WAYS.items():
        ways[name] = time_steps(bench, look=_profile(bench, options))
    found = interleave(ways, _ROUNDS)
    for name, figures in found.items():
        row.add(f"a step, {name}", figures, "ms")
    pairs = zip(found["sampled"], found["not sampled"], strict=True)
    ratio = statistics.median(sampled / alone for sampled, alone in pairs)
    row.promise("added to a step", 100 * (ratio - 1), MOST_STEP_PERCENT, "%")
    row.notes.append(NOTE)


def _profile(bench: Bench, options: tuple[str, ...]) -> Callable[[], Window]:
    """Return a function that samples the training, and returns the time of that."""
    command = [bench.ours.program, "profile", "--json", "--duration", f"{_SAMPLED_S}s", *options]

    def profile() -> Window:
        done = subprocess.run(
            command, cwd=bench.scratch, env=bench.environment, capture_output=True, check=True
        )
        found = json.loads(done.stdout)["profile"]
        (rank,) = found["ranks"]
        return found["at"] + 1.0, found["at"] + rank["lasted_s"]  # py-spy reads symbols first

    return profile
