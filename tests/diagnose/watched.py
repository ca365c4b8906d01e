"""Simulated telemetry of a run: samples are in the record with their times.

So hours of a training take no time; all code that reads the record is real.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpualert_common.classify.resolution import resolve
from gpualert_common.classify.rule_reader import load_rules
from gpualert_common.diagnose.detection import Detection
from gpualert_common.diagnose.evidence import Evidence, OutputTiming, RunObservations
from gpualert_common.diagnose.phenomena import warning_kinds
from gpualert_common.model import ExitFacts
from gpualert_common.progress import Progress
from gpualert_common.record import Record
from gpualert_common.stacks.dump import Dump
from gpualert_common.telemetry.series import Telemetry
from gpualert_common.telemetry.source import PERIOD_S, Sample, SourceEvent
from gpualert_common.telemetry.storage import TelemetryWriter

GIB = 1 << 30
PID = 4000
SOURCES = ("nvml", "processes", "kernel_log", "disk", "memory", "cgroup", "slurm")

Curve = Callable[[float], float]
"""A number by the seconds before now."""
Curves = Mapping[tuple[str, str], Curve | float]
"""Each number of each thing, such as ("gpu:0", "utilization_percent")."""


def until(ago_s: float, before: float, after: float) -> Curve:
    """One value until so long ago, another one since."""
    return lambda age_s: before if age_s > ago_s else after


def used_gpu(index: int = 0, **values: Curve | float) -> dict[tuple[str, str], Curve | float]:
    """Return a GPU on which the run holds memory; it works by default."""
    of = f"gpu:{index}"
    known: dict[str, Curve | float] = {
        "memory_total_bytes": 80.0 * GIB,
        "memory_used_bytes": 60.0 * GIB,
        "utilization_percent": 95.0,
        "sm_clock_mhz": 1755.0,
        **values,
    }
    found: dict[tuple[str, str], Curve | float] = {(of, name): known[name] for name in known}
    return {**found, (f"{of}/pid:{PID}", "memory_used_bytes"): known["memory_used_bytes"]}


def processes(cores: Curve | float) -> dict[tuple[str, str], Curve | float]:
    """Return the run's processes, which use so many cores."""
    return {("host:tree", "cores"): cores, ("host:tree", "rss_bytes"): 8.0 * GIB}


def look(
    record: Record,
    curves: Curves,
    *,
    seconds: float = 2700.0,
    events: Sequence[tuple[str, float, SourceEvent]] = (),
    facts: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Store the samples of the last *seconds*; events are (source, seconds ago, event)."""
    writer = TelemetryWriter(record)
    for source in SOURCES:
        writer.add_source(source, available=True, facts=dict((facts or {}).get(source, {})))
    now = time.time()
    cpu_s = 0.0
    for past in range(int(seconds / PERIOD_S), -1, -1):
        age_s = past * PERIOD_S
        rows: dict[str, dict[str, float]] = {}
        for (of, name), curve in curves.items():
            value = curve(age_s) if callable(curve) else curve
            row = rows.setdefault(of, {})
            if name == "cores":
                cpu_s += value * PERIOD_S
                row["cpu_seconds_total"] = cpu_s
            else:
                row[name] = value
        seen: list[tuple[str, Sample | SourceEvent]] = [
            (_source(of), Sample(of, values)) for of, values in rows.items()
        ]
        writer.add(now - age_s, seen)
    for source, ago_s, event in events:
        stored = SourceEvent(event.what, event.of, event.text, event.fields, now - ago_s)
        writer.add(now, [(source, stored)])


def _source(of: str) -> str:
    sources = {"gpu": "nvml", "disk": "disk", "cgroup": "memory", "host": "memory"}
    kind = of.partition(":")[0]
    return sources.get(kind, kind)


@dataclass
class Watched:
    """A run in progress, as the detectors see it now."""

    home: Path
    curves: Curves = field(default_factory=dict)
    seconds: float = 2700.0
    events: Sequence[tuple[str, float, SourceEvent]] = ()
    facts: Mapping[str, Mapping[str, Any]] | None = None
    silent_s: float = 1.0
    timing: OutputTiming | None = None
    progress: Progress | None = None
    stepping: tuple[int, float] | None = None
    stacks: tuple[Dump, ...] = ()

    def judged(self, kind: str) -> Detection | None:
        """Return the detection of that kind."""
        self.home.mkdir(exist_ok=True)
        record = Record.create(str(self.home / "run"), sync=False)
        look(record, self.curves, seconds=self.seconds, events=self.events, facts=self.facts)
        telemetry = Telemetry()
        telemetry.read(record)
        now = time.time()
        facts = ExitFacts(code=None)
        observed = RunObservations(
            telemetry,
            PID,
            now - self.seconds - 1.0,
            now,
            last_output_at=now - self.silent_s,
            progress=self.progress,
            timing=self.timing,
            stepping=self.stepping,
            stacks=self.stacks,
        )
        resolution = resolve((), facts, load_rules(), running=True)
        return warning_kinds()[kind].detect(Evidence(resolution, facts, observed))
