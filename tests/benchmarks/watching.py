"""Cost of the agent: the processor time and the memory of its watch over a node."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Row
from tests.benchmarks.observing import children_cpu_ns, cpu_ns
from tests.telemetry.standin import Process, Scenario, environment, gpu

GPUS = 8
RUNS = 10
MOST_PERCENT = 1.0
SETTLING_S = 30
"""Time until all runs are found, and were sampled."""
_SHELL = 'set -m; "$@" > "$0" 2>&1 & echo $!; wait'
"""Starts a command as an interactive shell does: in a process group of its own."""


def measure(bench: Bench) -> Row:
    """Measure the agent next to trainings that print a line a second."""
    row = Row(f"the agent, {RUNS} processes that print a line a second on {GPUS} simulated GPUs")
    percents, sizes = [], []
    for _round in range(bench.amount(3, 1)):
        with ExitStack() as stack:
            pids = [stack.enter_context(_training(bench, number)) for number in range(RUNS)]
            percent, size = _watch(bench, pids)
            percents.append(percent)
            sizes.append(size)
    row.add("processor", percents, "% of a core")
    row.add("memory", sizes, "MB")
    row.promise("processor", max(percents), MOST_PERCENT, "% of a core")
    row.notes.append("the driver is simulated: the time of NVIDIA's driver is not included")
    return row


@contextmanager
def _training(bench: Bench, number: int) -> Iterator[int]:
    """Start a training with a log, and yield its number."""
    log = bench.scratch / f"train{number}.log"
    command = ["bash", "-c", _SHELL, str(log), *bench.child("quiet", 1000)]
    shell = subprocess.Popen(
        command, cwd=bench.scratch, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert shell.stdout is not None
    pid = int(shell.stdout.readline())
    try:
        yield pid
    finally:
        subprocess.run(["kill", "-9", str(pid)], check=False)
        shell.wait()
        shell.stdout.close()


def _watch(bench: Bench, pids: list[int]) -> tuple[float, float]:
    """Return the processor time in percent of a core, and the memory, of the agent."""
    held = [tuple(Process(pid, 10 << 30) for pid in pids[index::GPUS]) for index in range(GPUS)]
    gpus = (replace(gpu(index), processes=held[index]) for index in range(GPUS))
    machine = environment(Scenario(tuple(gpus)), bench.notes / "machine")
    agent = subprocess.Popen(
        [bench.ours.program, "agent"],
        env={**bench.environment, **machine},
        stderr=subprocess.DEVNULL,
    )
    try:
        seconds = bench.amount(120, 1)
        time.sleep(bench.amount(SETTLING_S, 1))
        before = _used_ns(agent.pid)
        time.sleep(seconds)
        percent = (_used_ns(agent.pid) - before) / 1e9 / seconds * 100
        return percent, _resident_mb(agent.pid)
    finally:
        agent.terminate()
        agent.wait()


def _used_ns(pid: int) -> int:
    """Return the processor time of the agent and of the programs that it has started."""
    return cpu_ns(pid) + children_cpu_ns(pid)


def _resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS:"))
