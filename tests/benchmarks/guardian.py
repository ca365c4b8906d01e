"""Cost of a guardian between an engine's task and its training."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.bench import Bench, Worker
from tests.benchmarks.measure import Row, interleave
from tests.benchmarks.restraint import SLEEPER, idle_percent

MB = 1e6
MOST_SLOWDOWN = 0.9
"""Least speed of a followed child, as a part of the same child's without a follower."""
WAYS = {
    "subprocess.run": "by_subprocess",
    "run()": "by_ours",
    "RunHandle": "by_handle",
}


def measure_start(bench: Bench) -> Row:
    """Measure the time from the call, with everything imported, to the child's stamp."""
    row = Row("a guardian: from the call to the child's start")
    stamp = bench.notes / "stamp"
    child = ["/bin/sh", "-c", 'date +%s%N > "$0"', str(stamp)]
    with ExitStack() as stack:
        ways = {}
        for name, way in WAYS.items():
            worker = stack.enter_context(Worker(bench, bench.ours))
            ways[name] = _delay(worker, way, child, stamp)
        interleave(ways, 1)
        found = interleave(ways, bench.amount(40, 2))
    for name, delays in found.items():
        row.add(name, delays, "ms")
    row.notes.append("the child is `sh -c 'date > FILE'`, whose own start is in all three")
    return row


def measure_follower(bench: Bench) -> Row:
    """Measure the CPU of a task that follows, and of its guardian."""
    row = Row("following a run: CPU, in percent of one core")
    seconds = bench.amount(20, 1)
    paces = {
        "follower, idle": ["/bin/sleep", str(seconds)],
        "follower, 1 MB/s": bench.child("paced", 1_000_000, seconds),
        "follower, 10 MB/s": bench.child("paced", 10_000_000, seconds),
    }
    for name, child in paces.items():
        with Worker(bench, bench.ours) as worker:
            worker.call("by_following", ["/bin/true"])
            cpu_s = worker.call("by_following", child)["cpu_s"]
        row.add(name, [cpu_s / seconds * 100], "%")
        bench.sync_disk()
    row.add("guardian, idle", [_guardian_percent(bench, seconds)], "%")
    return row


def measure_followed(bench: Bench) -> Row:
    """Measure the speed of a child that writes as fast as it can, with and without a follower."""
    row = Row("a child that writes lines in 64 KiB blocks under a guardian")
    size = bench.amount(500_000_000, 1_000_000)
    ways = {
        name: _speed(bench, way, size)
        for name, way in (
            ("cmd > file", "to_file"),
            ("guardian", "by_handle"),
            ("guardian, followed", "by_following"),
        )
    }
    found = interleave(ways, bench.amount(7, 1))
    for name, speeds in found.items():
        row.add(name, speeds, "MB/s")
    pairs = zip(found["guardian, followed"], found["guardian"], strict=True)
    ratios = [followed / alone for followed, alone in pairs]
    row.add("followed / not followed, by round", ratios, "x")
    ratio = statistics.median(ratios)
    row.promise("followed / not followed", ratio, MOST_SLOWDOWN, "x", at_least=True, base=1)
    return row


def _speed(bench: Bench, way: str, size: int) -> Callable[[], float]:
    def run() -> float:
        with Worker(bench, bench.ours) as worker:
            worker.call(way, ["/bin/true"])  # the imports are not the flood's
            worker.call(way, bench.child("blocks", size))
        report = bench.child_report()
        bench.sync_disk()
        seconds = (report["ended_ns"] - report["began_ns"]) / 1e9
        return float(size / MB / seconds)

    return run


def _delay(worker: Worker, way: str, child: list[str], stamp: Path) -> Callable[[], float]:
    def run() -> float:
        began_ns = worker.call(way, child)["began_ns"]
        return float(int(stamp.read_text()) - began_ns) / 1e6

    return run


def _guardian_percent(bench: Bench, seconds: int) -> float:
    def gpualert(*arguments: str) -> str:
        command = [bench.ours.program, *arguments]
        return subprocess.run(
            command, env=bench.environment, cwd=bench.scratch, stdout=subprocess.PIPE, check=True
        ).stdout.decode()

    run_id = gpualert("run", "--detach", "--quiet", "--", *SLEEPER).strip()
    guardian = json.loads(gpualert("show", run_id, "--json"))["spec"]["supervisor_pid"]
    return idle_percent(guardian, bench.amount(3, 1), seconds)
