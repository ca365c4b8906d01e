"""Time, memory and size of a report."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Row
from tests.charts.composed import DAY_S, ComposedRun

MOST_BYTES = 1_000_000


def measure(bench: Bench) -> Row:
    """Measure ``gpualert report`` of long and of large runs, which are composed."""
    small = bench.quick
    runs = {
        "an hour, 1 GPU": ComposedRun(ranks=1),
        "30 days, 8 GPUs": ComposedRun(
            length_s=DAY_S if small else 30 * DAY_S,
            gpus=8,
            ranks=8,
            steps=bench.amount(200_000, 500),
        ),
        "64 ranks": ComposedRun(length_s=bench.amount(6, 1) * 3600.0, gpus=8, ranks=64),
    }
    row = Row("report of a run")
    for name, run in runs.items():
        place = bench.scratch / "state" / "runs" / "20260921-000000-000000-aaaa"
        place.parent.mkdir(parents=True, exist_ok=True)
        run.compose(place).close()
        _measure_run(bench, row, name)
        bench.sync_disk()
    row.notes.append("the records are composed; the picture of the timeline is drawn, too")
    return row


def _measure_run(bench: Bench, row: Row, name: str) -> None:
    page = Path(bench.scratch, "report.html")
    rounds = range(bench.amount(5, 1))
    found = [bench.meter(bench.ours.program, "report", "-o", str(page)) for _round in rounds]
    size = page.stat().st_size
    row.add(f"{name}: time", [(one["ended_ns"] - one["began_ns"]) / 1e9 for one in found], "s")
    row.add(f"{name}: CPU", [one["cpu_s"] for one in found], "s")
    row.add(f"{name}: memory", [one["peak_bytes"] / 1e6 for one in found], "MB")
    row.add(f"{name}: size", [size / 1e3], "kB")
    row.promise(f"{name}: size", size / 1e3, MOST_BYTES / 1e3, "kB")
