"""What it costs to look at the machine beside a run: processor time, and bytes on the disk."""

from __future__ import annotations

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
"""Until the sources are open and have looked once or twice."""
DAYS = 30
LOOKS_A_DAY = int(86400 / PERIOD_S)
PEAK_WATTS = 999.0
"""Seen once, on the first day."""


def measure(bench: Bench) -> Row:
    """CPU of all processes of ours beside a quiet training, with the sources and without."""
    row = Row(f"9a. the sources, beside a training that prints a line a second, {GPUS} GPUs played")
    machine = environment(_machine(), bench.notes / "machine")
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
    row.notes.append("the driver is played: what NVIDIA's takes for an answer is not in it")
    return row


def measure_telemetry(bench: Bench) -> Row:
    """What 30 days of looks leave on the disk, and what thinning them costs."""
    row = Row(f"9b. telemetry of {GPUS} GPUs, {DAYS} days of looks written at simulated times")
    record = Record.create(str(bench.scratch / "month"), sync=False)
    path = Path(record.path) / TELEMETRY
    writer = TelemetryWriter(record)
    looks = bench.amount(DAYS * LOOKS_A_DAY, 2000)
    sizes, cpu_s = [], time.process_time()
    for number, seen in enumerate(_looks(bench, looks)):
        writer.add(number * PERIOD_S, seen)
        if number % LOOKS_A_DAY == 0 or number == looks - 1:
            sizes.append(path.stat().st_size)
    cpu_s = time.process_time() - cpu_s
    writer.compact()
    told = Telemetry()
    told.read(record)
    row.add("file, day by day", [size / 1e6 for size in sizes[1:]], "MB")
    row.add("file, at the end", [sizes[-1] / 1e6], "MB")
    row.add("a day", [sizes[-1] / 1e6 / (looks / LOOKS_A_DAY)], "MB")
    row.add("writing and thinning", [cpu_s / (looks * PERIOD_S) * 100], "% of a core")
    row.promise("file", max(sizes) / 1e6, MOST_MB, "MB")
    peak = told.series("gpu:0", "power_watts").peak
    row.promise("a peak of one moment is kept", peak, PEAK_WATTS, "W", at_least=True)
    row.notes.append("numbers but limits are drawn anew for each look; CPU with the drawing")
    return row


def _machine() -> Scenario:
    """GPUs that are at work."""
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
    """Of one core, of the program and all below it but the training, once all has begun."""

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
            before = sum(map(_cpu_ns, ours))
            time.sleep(seconds)
            return (sum(map(_cpu_ns, ours)) - before) / 1e9 / seconds * 100
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()

    return run


def _trains(pid: int) -> bool:
    """True for child.py; our own processes may have its name in their arguments, later."""
    arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return any(argument.endswith(b"child.py") for argument in arguments[:4])


def _cpu_ns(pid: int) -> int:
    """Time on a CPU of all its threads, also of those that have ended."""
    return time.clock_gettime_ns(~pid << 3 | 2)  # clock_getcpuclockid(3)


def _looks(bench: Bench, count: int) -> Iterator[list[tuple[str, Sample]]]:
    """What NVML's source yields on that machine, varied."""
    watch = Watch("nvml", environment(_machine(), bench.notes / "machine"))
    seen = watch.sample().samples
    watch.kill()
    chance = random.Random(0)
    for number in range(count):
        samples = {
            of: {name: _varied(name, value, number, chance) for name, value in values.items()}
            for of, values in seen.items()
        }
        if number == LOOKS_A_DAY // 2 % count:
            samples["gpu:0"]["power_watts"] = PEAK_WATTS
        yield [("nvml", Sample(of, values)) for of, values in samples.items()]


def _varied(name: str, value: float, number: int, chance: random.Random) -> float:
    if "max" in name or "limit" in name or name.endswith("total_bytes"):
        return value
    if is_counter(name):
        return value + number
    return value * chance.uniform(0.9, 1.1)
