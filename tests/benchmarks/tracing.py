"""Cost of tracing: the launch, a step of a training that nobody traces, and one that is traced."""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from gpualert_common.median import median
from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Row, interleave

MOST_LAUNCH_MS = 10.0
MOST_IDLE_PERCENT = 1.0
"""Of the step time of a training that nobody traces."""
_ROUNDS = 5
_TRAINS_S = 12
_TRACED_WITHIN_S = 120
_SETTLING_S = 3.0
"""Time in which PyTorch allocates its memory."""
_TRACED_S = 2.0
_PROGRAM = str(Path(__file__).with_name("training_steps.py"))


def measure(bench: Bench) -> Row:
    """Measure launches, and trainings, with tracing and without in turn."""
    row = Row("tracing: a run that can be traced, beside one that cannot")
    options: dict[str, tuple[str, ...]] = {"tracing on": ("--tracing",), "off": ()}
    found = interleave(
        {name: _time_run(bench, given) for name, given in options.items()}, bench.amount(20, 1)
    )
    medians = {
        name: row.add(f"launch and end of true, {name}", figures, "ms").median
        for name, figures in found.items()
    }
    row.promise("added to a launch", medians["tracing on"] - medians["off"], MOST_LAUNCH_MS, "ms")
    if bench.quick:
        row.notes.append("without the step time, which needs PyTorch")
    elif importlib.util.find_spec("torch") is None:
        row.miss("step time", "PyTorch is not installed here")
    else:
        _measure_steps(bench, row, options)
    return row


def _measure_steps(bench: Bench, row: Row, options: dict[str, tuple[str, ...]]) -> None:
    ways = {name: _train(bench, given) for name, given in options.items()}
    ways["during a trace"] = _train(bench, ("--tracing",), is_traced=True)
    found = interleave(ways, bench.amount(_ROUNDS, 1))
    for name, figures in found.items():
        row.add(f"a step, {name}", [1000 * figure for figure in figures], "ms")
    pairs = zip(found["tracing on"], found["off"], strict=True)
    idle = statistics.median(on / off for on, off in pairs)
    row.promise("added to a step", 100 * (idle - 1), MOST_IDLE_PERCENT, "%")
    row.notes.append("a step is a training of two small layers on one core, without a GPU")


def _time_run(bench: Bench, options: tuple[str, ...]) -> Callable[[], float]:
    command = [bench.ours.program, "run", "--quiet", *options, "--", "true"]

    def run() -> float:
        began = time.perf_counter()
        subprocess.run(command, cwd=bench.scratch, env=bench.environment, check=True)
        return 1000 * (time.perf_counter() - began)

    return run


def _train(
    bench: Bench, options: tuple[str, ...], *, is_traced: bool = False
) -> Callable[[], float]:
    """Return a function that trains, and returns the median duration of a step."""
    notes, stop = bench.notes / "steps", bench.notes / "stop"
    run_command = [bench.ours.program, "run", "--quiet", "--no-observe", *options, "--"]
    seconds = _TRACED_WITHIN_S if is_traced else _TRAINS_S
    training = [sys.executable, _PROGRAM, str(seconds), str(stop), str(notes)]

    def run() -> float:
        stop.unlink(missing_ok=True)
        process = subprocess.Popen(
            [*run_command, *training], cwd=bench.scratch, env=bench.environment
        )
        window = _trace(bench) if is_traced else None
        if is_traced:
            stop.touch()
        assert process.wait() == 0
        steps = [tuple(map(float, line.split())) for line in notes.read_text().splitlines()]
        if window is None:
            window = steps[0][0] + _SETTLING_S, steps[-1][0]
        return median([step for at, step in steps if window[0] <= at <= window[1]])

    return run


def _trace(bench: Bench) -> tuple[float, float]:
    """Trace the training; return the times between which it was recorded."""
    time.sleep(_SETTLING_S)
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
