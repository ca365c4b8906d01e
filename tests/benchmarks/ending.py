"""From the child's last act to the verdict, however long the log is."""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmarks.bench import Bench, Install, Worker
from tests.benchmarks.measure import Row, interleave

LIMIT_MS = 25.0


def measure_paced(bench: Bench) -> Row:
    """A job that logs for five seconds, at 1 MB/s and at 10 MB/s, and ends well or badly."""
    row = Row("4a. from the child's last act to the return of run(), verdict written")
    seconds = bench.amount(5, 1)
    for rate_mb_s in bench.amount(1, 1), bench.amount(10, 2):
        for status in (0, 1):
            name = f"{rate_mb_s} MB/s, {'fails' if status else 'ends well'}"
            child = bench.child("paced", rate_mb_s * 1_000_000, seconds, status=status)
            ways = _ways(bench, name, child, with_peer=True)
            for way, delays in interleave(ways, bench.amount(5, 1)).items():
                row.add(way, delays, "ms")
            row.promise(name, row.entries[f"run(), {name}"].median, LIMIT_MS, "ms")
    return row


def measure_flat_out(bench: Bench) -> Row:
    """1 GB written flat out: faster than any classifier reads, so there is a backlog."""
    row = Row("4b. the same after 1 GB written flat out (no promise above 10 MB/s)")
    for status in (0, 1):
        name = "fails" if status else "ends well"
        child = bench.child("blocks", bench.amount(1_000_000_000, 4_000_000), status=status)
        ways = _ways(bench, name, child, with_peer=False)
        for way, delays in interleave(ways, bench.amount(5, 1)).items():
            row.add(way, delays, "ms")
    if bench.peer is not None:
        size = bench.amount(200_000_000, 1_000_000)
        peer = _timed(bench, bench.peer, "by_peer", bench.child("blocks", size))
        row.add("peer's run_job(), 200 MB", [peer()], "ms")
        row.notes.append("peer's: with what still stood in its pipes; it reads a tail of 50 lines")
    return row


def _ways(
    bench: Bench, name: str, child: list[str], *, with_peer: bool
) -> dict[str, Callable[[], float]]:
    ways = {
        f"cmd > file, {name}": _timed(bench, bench.ours, "to_file", child),
        f"run(), {name}": _timed(bench, bench.ours, "by_ours", child),
    }
    if with_peer and bench.peer is not None:
        ways[f"peer's run_job(), {name}"] = _timed(bench, bench.peer, "by_peer", child)
    return ways


def _timed(bench: Bench, install: Install, way: str, child: list[str]) -> Callable[[], float]:
    """Milliseconds from the child's stamp to the return of the call, verdict included.

    The same clock in both processes; the verdict is on the disk before the call returns.
    """

    def run() -> float:
        with Worker(bench, install) as worker:
            answer = worker.call(way, child)
        if way == "by_ours" and answer["cause"] not in ("none", "div_zero"):
            raise RuntimeError(f"the verdict is {answer['cause']}: this measures nothing")
        delay_ms = (answer["returned_ns"] - bench.child_report()["ended_ns"]) / 1e6
        bench.settle()
        return float(delay_ms)

    return run
