"""Cost of the samples during a run: processor time, and bytes on the disk."""

from __future__ import annotations

import os
import random
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from gpualert_common.record import Record
from gpualert_common.telemetry.series import Telemetry
from gpualert_common.telemetry.source import PERIOD_S, Sample
from gpualert_common.telemetry.storage import TELEMETRY, TelemetryWriter, is_counter
from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Row, interleave
from tests.benchmarks.restraint import descendants
from tests.telemetry.standin import Process, Scenario, environment, gpu
from tests.telemetry.standin.watch import Watch

GPUS = 8
MOST_PERCENT = 0.5
MOST_MB = 32
SETTLING_S = 10
"""Time until the sources are open and have sampled once or twice."""
DAYS = 30
SAMPLES_A_DAY = int(86400 / PERIOD_S)
PEAK_WATTS = 999.0
"""The value of one sample on the first day."""


def measure(bench: Bench) -> Row:
    """Measure the CPU of our processes next to a quiet training, with and without the sources."""
    row = Row(f"the sources, next to a training that prints a line a second, {GPUS} simulated GPUs")
    machine = simulate_gpus(bench)
    ways = {
        "sources on": _percent(bench, machine),
        "sources off": _percent(bench, machine, "--no-observe"),
    }
    found = interleave(ways, bench.amount(5, 1))
    for name, percents in found.items():
        row.add(name, percents, "% of a core")
        row.add(f"{name}, an hour", [percent * 36 for percent in percents], "s")
    added = statistics.median(found["sources on"]) - statistics.median(found["sources off"])
    row.promise("added by the sources", added, MOST_PERCENT, "% of a core")
    row.notes.append("the driver is simulated: the time of NVIDIA's driver is not included")
    return row


def measure_telemetry(bench: Bench) -> Row:
    """Measure the file size after 30 days of samples, and the cost of thinning."""
    row = Row(f"telemetry of {GPUS} GPUs, {DAYS} days of samples written at simulated times")
    record = Record.create(str(bench.scratch / "month"), sync=False)
    path = Path(record.path) / TELEMETRY
    writer = TelemetryWriter(record)
    count = bench.amount(DAYS * SAMPLES_A_DAY, 2000)
    sizes, cpu_s = [], time.process_time()
    for number, samples in enumerate(_samples(bench, count)):
        writer.add(number * PERIOD_S, samples)
        if number % SAMPLES_A_DAY == 0 or number == count - 1:
            sizes.append(path.stat().st_size)
    cpu_s = time.process_time() - cpu_s
    writer.compact()
    telemetry = Telemetry()
    telemetry.read(record)
    row.add("file, day by day", [size / 1e6 for size in sizes[1:]], "MB")
    row.add("file, at the end", [sizes[-1] / 1e6], "MB")
    row.add("a day", [sizes[-1] / 1e6 / (count / SAMPLES_A_DAY)], "MB")
    row.add("writing and thinning", [cpu_s / (count * PERIOD_S) * 100], "% of a core")
    row.promise("file", max(sizes) / 1e6, MOST_MB, "MB")
    peak = telemetry.series("gpu:0", "power_watts").peak
    row.promise("a peak of one moment is kept", peak, PEAK_WATTS, "W", at_least=True)
    row.notes.append("numbers except limits are drawn for each sample; CPU includes the drawing")
    return row


def simulate_gpus(bench: Bench) -> dict[str, str]:
    """Return the variables of a machine with busy GPUs."""
    return environment(_machine(), bench.notes / "machine")


def _machine() -> Scenario:
    """Return a machine with busy GPUs."""
    busy = (
        replace(
            gpu(index),
            memory_used=60 << 30,
            utilization_gpu=97,
            utilization_memory=61,
            power=650_000,
            temperature=64,
            processes=(Process(4711 + index, 60 << 30),),
        )
        for index in range(GPUS)
    )
    return Scenario(tuple(busy))


def _percent(bench: Bench, machine: dict[str, str], *options: str) -> Callable[[], float]:
    """Return the CPU of the program and its descendants without the training, in percent of a
    core."""

    def run() -> float:
        seconds = bench.amount(4, 1) * PERIOD_S
        process = subprocess.Popen(
            [bench.ours.program, "run", *options, "--", *bench.child("quiet", 1000)],
            cwd=bench.scratch,
            env={**bench.environment, **machine},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            time.sleep(bench.amount(SETTLING_S, 3))
            ours = [process.pid, *(pid for pid in descendants(process.pid) if not _trains(pid))]
            before = sum(map(cpu_ns, ours))
            time.sleep(seconds)
            return (sum(map(cpu_ns, ours)) - before) / 1e9 / seconds * 100
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()

    return run


def _trains(pid: int) -> bool:
    """True for child.py; our own processes may have its name in their arguments later."""
    arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return any(argument.endswith(b"child.py") for argument in arguments[:4])


def cpu_ns(pid: int) -> int:
    """Return the CPU time of all its threads, also of those that have ended."""
    return time.clock_gettime_ns(~pid << 3 | 2)  # clock_getcpuclockid(3)


def children_cpu_ns(pid: int) -> int:
    """Return the CPU time of the children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) * (10**9 // os.sysconf("SC_CLK_TCK"))


def _samples(bench: Bench, count: int) -> Iterator[list[tuple[str, Sample]]]:
    """Yield samples of NVML's source on that machine, varied."""
    watch = Watch("nvml", environment(_machine(), bench.notes / "machine"))
    first = watch.sample().samples
    watch.kill()
    chance = random.Random(0)
    for number in range(count):
        samples = {
            of: {name: _varied(name, value, number, chance) for name, value in values.items()}
            for of, values in first.items()
        }
        if number == SAMPLES_A_DAY // 2 % count:
            samples["gpu:0"]["power_watts"] = PEAK_WATTS
        yield [("nvml", Sample(of, values)) for of, values in samples.items()]


def _varied(name: str, value: float, number: int, chance: random.Random) -> float:
    if "max" in name or "limit" in name or name.endswith("total_bytes"):
        return value
    if is_counter(name):
        return value + number
    return value * chance.uniform(0.9, 1.1)
