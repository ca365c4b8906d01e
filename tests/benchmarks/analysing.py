"""Time and memory of the analysis of traces, next to Python's own reader of JSON."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Row, interleave
from tests.traces.composed import ComposedTrace

KERNELS = 64_000
"""Of one rank: with their launches and operators a file of some 60 MB."""
RANKS = 8
MOST_MB = 160.0
MOST_RATIO = 2.0
"""Of the time in which Python's ``json`` reads a file."""
_KERNEL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)"
_STEP_KERNELS = 400
_READ = "import json, sys; json.load(open(sys.argv[1]))"


def measure(bench: Bench) -> Row:
    """Measure ``gpualert analyze`` for one rank and for several, and the merging of the traces."""
    kernels, ranks = bench.amount(KERNELS, 400), bench.amount(RANKS, 2)
    paths = [str(_write(bench, rank, ranks, kernels)) for rank in range(ranks)]
    size_mb = Path(paths[0]).stat().st_size / 1e6
    row = Row(f"analysis of traces of {size_mb:.0f} MB for each rank")
    merged = str(bench.scratch / "merged.json.gz")
    analyze = (bench.ours.program, "analyze", "--json")
    ways = {
        "json.load, one rank": (bench.ours.python, "-c", _READ, paths[0]),
        "one rank": (*analyze, paths[0]),
        f"{ranks} ranks": (*analyze, *paths),
        f"{ranks} ranks, with --merge": (*analyze, "--merge", merged, *paths),
    }
    meters = {name: partial(bench.meter, *command) for name, command in ways.items()}
    found = interleave(meters, bench.amount(3, 1))
    medians = {}
    for name, reports in found.items():
        seconds = row.add(f"processor, {name}", [one["cpu_s"] for one in reports], "s")
        memory = row.add(f"memory, {name}", [one["peak_bytes"] / 1e6 for one in reports], "MB")
        medians[name] = seconds.median, memory.median
    base, own = medians["json.load, one rank"][0], medians["one rank"][0]
    row.promise("one rank, of json.load", own / base, MOST_RATIO, "x")
    row.promise(f"memory, {ranks} ranks", medians[f"{ranks} ranks"][1], MOST_MB, "MB")
    row.notes.append("the traces are composed: kernels of a GPU, with their launches and operators")
    return row


def _write(bench: Bench, rank: int, ranks: int, kernels: int) -> Path:
    """Write the trace of one rank, and return its path."""
    trace = ComposedTrace(rank, ranks)
    for number in range(kernels):
        at = 30.0 * number
        if number % _STEP_KERNELS == 0:
            name = f"ProfilerStep#{number // _STEP_KERNELS}"
            trace.annotation(name, at, 30.0 * _STEP_KERNELS)
        about: dict[str, Any] = {"External id": number, "Input Dims": [[1024]]}
        trace.cpu_op("aten::fill_", at, 12.0, **about)
        trace.kernel(_KERNEL, at + 15.0, 20.0, launched=at + 3.0, grid=[256, 1, 1])
    return trace.write(bench.scratch / f"rank-{rank}.json")
