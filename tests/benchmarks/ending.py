"""Time from the child's last act to the verdict, for logs of any length."""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmarks.bench import Bench, Install, Worker
from tests.benchmarks.measure import Row, interleave

LIMIT_MS = 25.0
RATES_MB_S = (0, 1, 10)
LIVE_MB_S = 50
LIVE_LIMIT_MS = 100.0
PEER = "peer's run_job()"
EXPECTED = {0: "none", 1: "div_zero"}
"""Expected cause by status: a time without this verdict means nothing."""


def measure_paced(bench: Bench) -> Row:
    """Measure a job that logs for five seconds at a steady rate, or nothing, and ends well or
    badly."""
    row = Row("from the child's last act to the verdict on the disk and in the caller's hands")
    seconds = bench.amount(5, 1)
    for rate_mb_s in RATES_MB_S[-1:] if bench.quick else RATES_MB_S:
        for status in EXPECTED:
            name = f"{rate_mb_s} MB/s, {'fails' if status else 'ends well'}"
            child = bench.child("paced", rate_mb_s * 1_000_000, seconds, status=status)
            ways = _ways(bench, child, status)
            if rate_mb_s == RATES_MB_S[-1]:
                ways |= _others(bench, child)
            for way, delays in interleave(ways, bench.amount(3, 1)).items():
                row.add(f"{way}, {name}", delays, "ms")
            for way in _ways(bench, child, status):
                spread = row.entries[f"{way}, {name}"]
                peer = row.entries.get(f"{PEER}, {name}")
                base = peer.median if peer is not None else None
                row.promise(f"{way}, {name}", spread.median, LIMIT_MS, "ms", base=base)
    return row


def measure_live(bench: Bench) -> Row:
    """Measure the classifier's backlog for a job that logs 50 MB/s."""
    row = Row("from the child's last act to the verdict at 50 MB/s: its backlog")
    child = bench.child("paced", LIVE_MB_S * 1_000_000, bench.amount(10, 1), status=1)
    ways = _ways(bench, child, 1)
    for way, delays in interleave(ways, bench.amount(3, 1)).items():
        row.add(way, delays, "ms")
        row.promise(way, row.entries[way].median, LIVE_LIMIT_MS, "ms")
    return row


def measure_flat_out(bench: Bench) -> Row:
    """Measure the backlog after 1 GB at full speed, faster than any classifier reads."""
    row = Row("from the child's last act to the verdict after 1 GB written flat out")
    for status in EXPECTED:
        name = "fails" if status else "ends well"
        child = bench.child("blocks", bench.amount(1_000_000_000, 4_000_000), status=status)
        for way, delays in interleave(_ways(bench, child, status), bench.amount(5, 1)).items():
            row.add(f"{way}, {name}", delays, "ms")
    size = bench.amount(200_000_000, 1_000_000)
    for way, run in _others(bench, bench.child("blocks", size)).items():
        row.add(f"{way}, {size / 1e6:.0f} MB", [run()], "ms")
    row.notes.append("peer's: with what still stood in its pipes; it reads a tail of 50 lines")
    return row


def _ways(bench: Bench, child: list[str], status: int) -> dict[str, Callable[[], float]]:
    return {
        "run()": _returned(bench, bench.ours, "by_ours", child, EXPECTED[status]),
        "gpualert run": _exited(bench, child),
    }


def _others(bench: Bench, child: list[str]) -> dict[str, Callable[[], float]]:
    ways = {"cmd > file": _returned(bench, bench.ours, "to_file", child)}
    if bench.peer is not None:
        ways[PEER] = _returned(bench, bench.peer, "by_peer", child)
    return ways


def _returned(
    bench: Bench, install: Install, way: str, child: list[str], cause: str | None = None
) -> Callable[[], float]:
    """Milliseconds from the child's stamp to the return of the call, by the same clock.

    The verdict is on the disk before the call returns.
    """

    def run() -> float:
        with Worker(bench, install) as worker:
            answer = worker.call(way, child)
        if answer["cause"] != cause:
            raise RuntimeError(f"the verdict is {answer['cause']}, not {cause}")
        return _since_child(bench, answer["returned_ns"])

    return run


def _exited(bench: Bench, child: list[str]) -> Callable[[], float]:
    """Milliseconds from the child's stamp to the end of the program, verdict shown."""

    def run() -> float:
        cost = bench.meter(bench.ours.program, "run", "--", *child)
        return _since_child(bench, cost["ended_ns"])

    return run


def _since_child(bench: Bench, ended_ns: int) -> float:
    delay_ms = (ended_ns - bench.child_report()["ended_ns"]) / 1e6
    bench.sync_disk()
    return float(delay_ms)
