"""What ``run()`` adds to ``subprocess.run`` for a child that does nothing."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import ExitStack

from tests.benchmarks.bench import Bench, Worker
from tests.benchmarks.measure import Row, interleave

COMMAND = ["/bin/true"]
BATCH = 10


def measure(bench: Bench) -> Row:
    """Every way in rounds of small batches; each overhead is taken within its own round."""
    row = Row("1. run() with a child that does nothing: wall time, and what is added")
    rounds = bench.amount(40, 2)
    with ExitStack() as stack:
        ours = stack.enter_context(Worker(bench, bench.ours))
        ways = {
            "os.posix_spawn, waitpid": _batch(ours, "by_posix_spawn"),
            "subprocess.run": _batch(ours, "by_subprocess"),
            "run(), syncing off": _batch(ours, "by_ours_unsynced"),
            "run()": _batch(ours, "by_ours"),
        }
        if bench.peer is not None:
            peer = stack.enter_context(Worker(bench, bench.peer))
            ways["subprocess.run, peer's interpreter"] = _batch(peer, "by_subprocess")
            ways["peer's run_job()"] = _batch(peer, "by_peer")
        interleave(ways, 1)  # imports, caches
        found = interleave(ways, rounds)
    for name, figures in found.items():
        row.add(name, figures, "ms")
    base = found["subprocess.run"]
    added = {
        name: row.add(f"added by {name}", _minus(found[name], base), "ms").median
        for name in ("run(), syncing off", "run()")
    }
    if bench.peer is not None:
        peer_base = found["subprocess.run, peer's interpreter"]
        peer_adds = row.add(
            "added by peer's run_job()", _minus(found["peer's run_job()"], peer_base), "ms"
        ).median
        unsynced = "added with syncing off, 1/4 of peer's"
        row.promise(unsynced, added["run(), syncing off"], peer_adds / 4, "ms")
        row.promise("added with the syncs, peer's (it syncs nothing)", added["run()"], peer_adds, "ms")
    return row


def _batch(worker: Worker, way: str) -> Callable[[], float]:
    def run() -> float:
        return 1000 * statistics.median(worker.call(way, COMMAND, BATCH)["walls_s"])

    return run


def _minus(figures: list[float], base: list[float]) -> list[float]:
    return [figure - least for figure, least in zip(figures, base, strict=True)]
