"""A child that writes as fast as possible: its slowdown, and our costs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from tests.benchmarks.bench import Bench, Install, Worker
from tests.benchmarks.measure import Row, interleave

LINE_BYTES = 105
MB = 1e6
MIB = 1 << 20
LEAST_SPEED = 0.9
"""Speed of the child, as a part of that of ``cmd > file``."""


@dataclass(frozen=True, slots=True)
class Flood:
    """One run: the child's speed, our CPU per million lines, our largest process."""

    mb_s: float
    cpu_s: float
    peak_mib: float


def measure_blocks(bench: Bench) -> Row:
    """Measure 2 GB in blocks of 64 KiB, and a tenth of it to see whether memory grows."""
    row = Row("a child that writes 2 GB of lines in 64 KiB blocks")
    size = bench.amount(2_000_000_000, 4_000_000)
    peer_size = bench.amount(100_000_000, 1_000_000)
    rounds = bench.amount(5, 1)
    found = _measure(bench, row, rounds, ("blocks", size), ("blocks", peer_size))
    # With cat, three processes want two cores.
    _promise_speed(row, "run()", "gpualert run > /dev/null")
    _add_costs(row, found)
    if PEER in found:
        peer = row.entries[f"CPU, {PEER}"].median
        for name in ("run()", "gpualert run > /dev/null"):
            ours = row.entries[f"CPU, {name}"].median
            what = f"{name}, 1/100 of peer's CPU"
            row.promise(what, ours, peer / 100, "s per M lines", base=peer)
        row.notes.append(f"peer: {peer_size / MB:.0f} MB, the rest would take minutes")
    small = Row("")
    few = _measure(bench, small, 1, ("blocks", size // 10), None)
    for name in ("run()", "gpualert run > /dev/null"):
        grown = row.entries[f"peak, {name}"].median - few[name][0].peak_mib
        row.promise(f"{name}, peak at 2 GB over that at 200 MB", grown, 8, "MiB")
    return row


def measure_lines(bench: Bench) -> Row:
    """Measure a million lines, each by a separate write."""
    row = Row("a child that writes 1 M lines of 105 bytes, one a write")
    count = bench.amount(1_000_000, 10_000)
    peer_count = bench.amount(200_000, 2_000)
    rounds = bench.amount(5, 1)
    found = _measure(bench, row, rounds, ("lines", count), ("lines", peer_count))
    _promise_speed(row, "run()", "gpualert run > /dev/null", "gpualert run | cat")
    _add_costs(row, found)
    if PEER in found:
        row.notes.append(f"peer: {peer_count:,} lines")
    return row


PEER = "peer's run_job()"


def _measure(
    bench: Bench,
    row: Row,
    rounds: int,
    amount: tuple[str, int],
    peer_amount: tuple[str, int] | None,
) -> dict[str, list[Flood]]:
    child = bench.child(*amount)
    lines = amount[1] if amount[0] == "lines" else amount[1] / LINE_BYTES
    ways = {
        "cmd > file": _in_worker(bench, bench.ours, "to_file", child, lines),
        "run()": _in_worker(bench, bench.ours, "by_ours", child, lines),
        "gpualert run > /dev/null": _by_program(bench, child, lines, piped=False),
        "gpualert run | cat": _by_program(bench, child, lines, piped=True),
    }
    if bench.peer is not None and peer_amount is not None:
        few = peer_amount[1] if peer_amount[0] == "lines" else peer_amount[1] / LINE_BYTES
        command = bench.child(*peer_amount)
        ways[PEER] = _in_worker(bench, bench.peer, "by_peer", command, few)
    found = interleave(ways, rounds)
    for name, floods in found.items():
        row.add(name, [flood.mb_s for flood in floods], "MB/s")
    return found


def _promise_speed(row: Row, *names: str) -> None:
    base = row.entries["cmd > file"].median
    for name in names:
        what, ours = f"{name}, {LEAST_SPEED} x cmd > file", row.entries[name].median
        row.promise(what, ours, LEAST_SPEED * base, "MB/s", at_least=True, base=base)


def _add_costs(row: Row, found: dict[str, list[Flood]]) -> None:
    for name, floods in found.items():
        if name != "cmd > file":
            row.add(f"CPU, {name}", [flood.cpu_s for flood in floods], "s per M lines")
    for name, floods in found.items():
        if name != "cmd > file":
            row.add(f"peak, {name}", [flood.peak_mib for flood in floods], "MiB")


def _in_worker(
    bench: Bench, install: Install, way: str, child: list[str], lines: float
) -> Callable[[], Flood]:
    def run() -> Flood:
        with Worker(bench, install) as worker:
            worker.call(way, ["/bin/true"])  # the imports are not the flood's
            cost = worker.call(way, child)
        return _flood(bench, cost["cpu_s"], cost["peak_bytes"], lines)

    return run


def _by_program(
    bench: Bench, child: list[str], lines: float, *, piped: bool
) -> Callable[[], Flood]:
    command = [bench.ours.program, "run", "--", *child]

    def run() -> Flood:
        if piped:
            with subprocess.Popen(
                ["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
            ) as cat:
                assert cat.stdin is not None
                cost = bench.meter(*command, stdout=cat.stdin.fileno())
                cat.stdin.close()
        else:
            cost = bench.meter(*command)
        cpu_s = cost["cpu_s"] - bench.child_report()["cpu_s"]
        return _flood(bench, cpu_s, cost["peak_bytes"], lines)

    return run


def _flood(bench: Bench, cpu_s: float, peak_bytes: int, lines: float) -> Flood:
    report = bench.child_report()
    seconds = (report["ended_ns"] - report["began_ns"]) / 1e9
    bench.sync_disk()
    return Flood(lines * LINE_BYTES / MB / seconds, cpu_s / lines * 1e6, peak_bytes / MIB)
