"""Time that ``run()`` adds to ``subprocess.run`` for a child that does nothing.

Most of what is added is the making of a few small files.  ext4 passes over inodes that were freed
in the last minutes, one by one: where a test run has just removed thousands, each new file costs
0.4 ms instead of 0.01.  The first entry shows it; measure again when it is high.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack

from tests.benchmarks.bench import Bench, Install, Worker
from tests.benchmarks.measure import Row, Spread, interleave

COMMAND = ["/bin/true"]
BATCH = 10
MOST_PEERS = 4
"""Times that of the paper's tool, which keeps no record and syncs nothing."""

OURS, OURS_UNSYNCED, PEER = "run()", "run(), syncing off", "peer's run_job()"
LEAST, BASE, PEER_BASE = "os.posix_spawn", "subprocess.run", "subprocess.run next to the peer"


def measure(bench: Bench) -> Row:
    """Measure every way in rounds of small batches; subtract median from median, tenth from tenth.

    Synced and unsynced runs have separate rounds: a sync leaves work behind for the next process.
    """
    row = Row("run() with a child that does nothing: wall time, and what it adds")
    row.add("one new file", [_new_file(bench) for _ in range(50)], "ms")
    for way, name in (("by_ours_unsynced", OURS_UNSYNCED), ("by_ours", OURS)):
        found = _rounds(bench, name, way)
        for entry in (LEAST, BASE):
            row.entries.setdefault(entry, Spread.of(found[entry], "ms"))
        added = _added(row, name, found[name], found[BASE])
        if PEER not in found:
            continue
        turn = "syncing off" if name == OURS_UNSYNCED else "synced"
        peer = _added(row, f"{PEER}, next to {turn}", found[PEER], found[PEER_BASE])
        row.promise(f"added, {turn}: 4 x peer's", added, MOST_PEERS * peer, "ms", base=peer)
    return row


def _rounds(bench: Bench, name: str, way: str) -> dict[str, list[float]]:
    with ExitStack() as stack:

        def batch(install: Install, way: str) -> Callable[[], float]:
            worker = stack.enter_context(Worker(bench, install))
            return lambda: 1000 * statistics.median(worker.call(way, COMMAND, BATCH)["walls_s"])

        ways = {
            LEAST: batch(bench.ours, "by_posix_spawn"),
            BASE: batch(bench.ours, "by_subprocess"),
            name: batch(bench.ours, way),
        }
        if bench.peer is not None:
            ways[PEER_BASE] = batch(bench.peer, "by_subprocess")
            ways[PEER] = batch(bench.peer, "by_peer")
        interleave(ways, 1)  # imports, caches
        return interleave(ways, bench.amount(40, 2))


def _new_file(bench: Bench) -> float:
    began = time.perf_counter()
    (bench.scratch / str(time.monotonic_ns())).touch(exist_ok=False)
    return 1000 * (time.perf_counter() - began)


def _added(row: Row, name: str, figures: list[float], base: list[float]) -> float:
    """Add the time of ``name``, and its excess over ``base``; return the latter's median."""
    taken = row.add(name, figures, "ms")
    row.entries[f"added by {name}"] = taken.minus(Spread.of(base, "ms"))
    return row.entries[f"added by {name}"].median
