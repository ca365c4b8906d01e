"""Cost of tracing: the launch, a step of a training that nobody traces, and one that is traced."""

from __future__ import annotations

import json
import statistics
import subprocess

from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Row, interleave
from tests.benchmarks.start import stamping_child, time_start
from tests.benchmarks.step_times import NOTE, Window, has_torch, time_steps

MOST_LAUNCH_MS = 10.0
MOST_IDLE_US = 30.0
"""PyTorch's hook after each step of an optimizer takes the same time however long a step is."""
_ROUNDS = 5
_TRACED_S = 2.0


def measure(bench: Bench) -> Row:
    """Measure launches, and trainings, with tracing and without in turn."""
    row = Row("tracing: a run that can be traced, beside one that cannot")
    options: dict[str, tuple[str, ...]] = {"tracing on": ("--tracing",), "off": ()}
    command = [bench.ours.program, "run", "--quiet"]
    ways = {
        name: time_start(bench, [*command, *given, "--", *stamping_child(bench)])
        for name, given in options.items()
    }
    found = interleave(ways, bench.amount(20, 1))
    starts = {
        name: row.add(f"start of the child, {name}", [start for start, _end in delays], "ms").median
        for name, delays in found.items()
    }
    for name, delays in found.items():
        row.add(f"end of the program, {name}", [end for _start, end in delays], "ms")
    added = starts["tracing on"] - starts["off"]
    row.promise("added to the start of the child", added, MOST_LAUNCH_MS, "ms")
    if bench.quick:
        row.notes.append("without the step time, which needs PyTorch")
    elif not has_torch():
        row.miss("step time", "PyTorch is not installed here")
    else:
        _measure_steps(bench, row, options)
    return row


def _measure_steps(bench: Bench, row: Row, options: dict[str, tuple[str, ...]]) -> None:
    ways = {name: time_steps(bench, given) for name, given in options.items()}
    ways["during a trace"] = time_steps(bench, ("--tracing",), lambda: _trace(bench))
    found = interleave(ways, bench.amount(_ROUNDS, 1))
    for name, figures in found.items():
        row.add(f"a step, {name}", figures, "ms")
    pairs = zip(found["tracing on"], found["off"], strict=True)
    added = statistics.median(on - off for on, off in pairs)
    row.promise("added to a step that nobody traces", 1000 * added, MOST_IDLE_US, "us")
    row.notes.append(NOTE)


def _trace(bench: Bench) -> Window:
    """Trace the training; return the times between which it was recorded."""
    done = subprocess.run(
        [bench.ours.program, "trace", "--json", "--duration", f"{_TRACED_S:g}s"],
        cwd=bench.scratch,
        env=bench.environment,
        capture_output=True,
        check=True,
    )
    (trace,) = json.loads(done.stdout)["traces"]
    start = trace["result"]["start_at"]
    return start, start + _TRACED_S
