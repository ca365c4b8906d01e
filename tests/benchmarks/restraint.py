"""Resources of our processes while the child is idle, or writes an endless line."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.bench import Bench, Install, Worker
from tests.benchmarks.measure import Row, interleave

MIB = 1 << 20
FLAT_MIB = 16
"""Some buffers of a megabyte each, independent of the line."""
SLEEPER = ["/bin/sleep", "1000"]


def measure_endless_line(bench: Bench) -> Row:
    """Measure the peak resident set during 300 MB without a newline."""
    row = Row("300 MB without a newline: largest resident set")
    child = bench.child("endless", bench.amount(300_000_000, 3_000_000))
    ways = {"run()": _peak(bench, bench.ours, "by_ours", child)}
    idle = {"run(), /bin/true": _peak(bench, bench.ours, "by_ours", ["/bin/true"])}
    if bench.peer is not None:
        ways["peer's run_job()"] = _peak(bench, bench.peer, "by_peer", child)
    for name, peaks in {**interleave(idle, 1), **interleave(ways, bench.amount(3, 1))}.items():
        row.add(name, peaks, "MiB")
    grown = row.entries["run()"].median - row.entries["run(), /bin/true"].median
    row.promise("over the peak with /bin/true: flat", grown, FLAT_MIB, "MiB")
    return row


def measure_idle(bench: Bench) -> Row:
    """Measure the CPU of our processes next to a sleeping child."""
    row = Row("next to a sleeping child: CPU, in percent of one core")
    seconds = bench.amount(20, 1)
    programs = {"gpualert run": [bench.ours.program, "run", "--", *SLEEPER]}
    if bench.peer is not None:
        programs["peer's gpualert run"] = [bench.peer.program, "run", "--no-notify", "--", *SLEEPER]
    for name, command in programs.items():
        row.add(name, [_idle_percent(bench, command, seconds)], "%")
    return row


def _peak(bench: Bench, install: Install, way: str, child: list[str]) -> Callable[[], float]:
    def run() -> float:
        with Worker(bench, install) as worker:
            peak_bytes = worker.call(way, child)["peak_bytes"]
        bench.sync_disk()
        return float(peak_bytes / MIB)

    return run


def _idle_percent(bench: Bench, command: list[str], seconds: int) -> float:
    process = subprocess.Popen(
        command,
        cwd=bench.scratch,
        env=bench.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        return idle_percent(process.pid, bench.amount(3, 1), seconds)
    finally:
        process.terminate()
        process.wait()


def idle_percent(supervisor: int, settling_s: int, seconds: int) -> float:
    """Return the CPU of a supervisor and its descendants except the ``sleep``, which is killed at
    the end."""
    time.sleep(settling_s)
    below = descendants(supervisor)
    sleepers = [pid for pid in below if _name(pid) == "sleep"]
    watched = [supervisor, *(pid for pid in below if pid not in sleepers)]
    before = sum(map(_cpu_ns, watched))
    time.sleep(seconds)
    spent_ns = sum(map(_cpu_ns, watched)) - before
    for pid in sleepers:
        os.kill(pid, signal.SIGTERM)
    return spent_ns / 1e9 / seconds * 100


def descendants(pid: int) -> list[int]:
    """Return the descendants of a process."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *descendants(child)]
    return found


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _cpu_ns(pid: int) -> int:
    """Return the CPU time of all live threads."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)
