"""A run as its record describes it: log, ending, and telemetry; and the verdict on it.

The files on disk are those that a supervisor and a sampler leave.  ``gpualert recover`` classifies
them as for any record.  So hours of a training take no time.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpualert_common import record_locations, recover
from gpualert_common.codec import encode
from gpualert_common.launch_record import Owner
from gpualert_common.record import EXIT, INDEX, SPEC, Record
from gpualert_common.record.record import describe
from gpualert_common.spec import Ending, RunSpec
from gpualert_common.stacks.dump import Dump
from gpualert_common.stacks.storage import store_dump
from gpualert_common.structs import replace
from gpualert_common.telemetry.source import PERIOD_S, Sample, SourceEvent
from gpualert_common.telemetry.storage import TelemetryWriter

GIB = 1 << 30
PID = 4000
STRANGER = 900
LOG = "output.log"

Curve = Callable[[float], float]
"""A number by the elapsed part of the run, from 0 to 1."""


def flat(value: float) -> Curve:
    """Return a constant curve."""
    return lambda _part: value


def steps(*parts: tuple[float, float]) -> Curve:
    """Return a curve with the value of the last of these (part, value) that has begun."""
    return lambda part: [value for begin, value in parts if part >= begin][-1]


def rising(rate: float, after: float = 0.0) -> Curve:
    """Return a counter that grows by this amount from that part of the run on."""
    return lambda part: max(0.0, part - after) * rate


_MOST_OF_IT, _BUSY, _BOOST, _ONE_CORE = flat(0.6), flat(92.0), flat(1755.0), flat(1.2)


@dataclass
class Card:
    """A GPU as NVML reports it; ``used`` is False for one that the run does not use."""

    used: bool = True
    total_bytes: int = 80 * GIB
    memory: Curve = _MOST_OF_IT
    load: Curve = _BUSY
    clock: Curve = _BOOST
    counters: dict[str, Curve] = field(default_factory=dict)
    gauges: dict[str, Curve] = field(default_factory=dict)
    others_bytes: int = 0

    def look(self, index: int, part: float, noise: random.Random) -> Iterable[Sample]:
        """Return its sample at that part of the run."""
        held = int(self.memory(part) * self.total_bytes)
        yield Sample(
            f"gpu:{index}",
            {
                "memory_total_bytes": self.total_bytes,
                "memory_used_bytes": held + self.others_bytes,
                "utilization_percent": max(0.0, min(100.0, self.load(part) + noise.gauss(0, 2)))
                if self.load(part)
                else 0.0,
                "sm_clock_mhz": self.clock(part) + noise.gauss(0, 8),
                "ecc_uncorrected_total": 0,
                **{name: curve(part) for name, curve in self.gauges.items()},
                **{name: int(curve(part)) for name, curve in self.counters.items()},
            },
        )
        if self.used:
            yield Sample(f"gpu:{index}/pid:{PID}", {"memory_used_bytes": held})
        if self.others_bytes:
            of = f"gpu:{index}/pid:{STRANGER}"
            yield Sample(of, {"memory_used_bytes": self.others_bytes})


@dataclass
class Scene:
    """One run; ``events`` are (source, part of the run, event), times are seconds.

    ``silent_s`` is the time between its last output and its end; ``cores`` the processor usage;
    ``checkpoints`` the facts of that source.  ``cause`` is the true one, if it depends on a random
    choice, and ``attribution``, if it depends on more than the cause.  ``earlier`` are earlier runs
    of the same command in the history; ``given`` are further facts of the source environment,
    ``custody`` those of an engine.  ``printed`` is the part of the log that was printed, for its
    index; ``first_sample_s`` the time of the first sample; ``waited_s`` the wait for a rendezvous
    at the end, as its source measures it.  ``dumps`` are stacks, each with its time in seconds
    before the end.  ``slurm`` are the facts of that source, for a run in one of its jobs.  At
    ``memory_limit_mib`` the kernel kills a real child for memory.
    """

    cards: Sequence[Card] = ()
    log: str = "step 1 loss 2.31\n"
    code: int | None = 0
    limit: str | None = None
    signal: int | None = None
    sender: Any = None
    seconds: float = 3600.0
    silent_s: float = 2.0
    cores: Curve = _ONE_CORE
    variables: dict[str, str] = field(default_factory=dict)
    events: Sequence[tuple[str, float, SourceEvent]] = ()
    missing: Sequence[str] = ()
    host: dict[str, Curve] = field(default_factory=dict)
    memory_cgroup: str = "/job"
    memory_limit_mib: int | None = None
    command: Sequence[str] = ("python", "train.py")
    checkpoints: dict[str, Any] = field(default_factory=dict)
    cause: str = ""
    attribution: str = ""
    earlier: Sequence[Scene] = ()
    given: dict[str, Any] = field(default_factory=dict)
    custody: Owner | None = None
    gpu_model: str = "NVIDIA H100 80GB HBM3"
    printed: Curve | None = None
    first_sample_s: float = 0.0
    dumps: Sequence[tuple[float, Dump]] = ()
    waited_s: float = 0.0
    slurm: dict[str, Any] = field(default_factory=dict)
    hostname: str = field(default_factory=lambda: os.uname().nodename)
    seed: int = 0

    def record(self, home: Path) -> Record:
        """Write the record."""
        now = time.time()
        began = now - self.seconds
        run_id = record_locations.new_run_id()
        record = Record.create(str(home / run_id), sync=False)
        spec = describe(
            RunSpec(self.command, cwd=str(home), custody=self.custody),
            record,
            created_at=began,
            host=self.hostname,
        )
        record.write_json(SPEC, spec)
        path = Path(record.log_path(LOG))
        path.write_text(self.log)
        os.utime(path, (now - self.silent_s, now - self.silent_s))
        if self.printed is not None:
            size = len(self.log.encode())
            for second in range(1, int(self.seconds)):
                record.append(
                    INDEX, f"{second}.0 {int(size * self.printed(second / self.seconds))}"
                )
        record.append_event("launched", began, pid=PID, start_ticks=1)
        self._look(record, began)
        for before_s, dump in self.dumps:
            store_dump(record, replace(dump, at=now - before_s))
        ending = Ending(began, now)
        ending.pid, ending.code = PID, self.code
        ending.limit, ending.signal, ending.sender = self.limit, self.signal, self.sender
        record.write_json(EXIT, {**ending.to_json(), "survivors": []})
        return record

    def verdict(self, home: Path) -> dict[str, Any]:
        """Return the verdict."""
        record = self.record_after_earlier(home)
        return encode(recover.classify_logs(record, record.ending))

    def record_after_earlier(self, home: Path) -> Record:
        """Write the record, after the earlier runs were classified and indexed."""
        if self.earlier:
            home = Path(tempfile.mkdtemp(dir=home), "runs")
            home.mkdir()
        for one in self.earlier:
            ended = one.record(home)
            ended.close()
            assert recover.recover(Record.open(ended.path)) == "recovered"
        return self.record(home)

    def _look(self, record: Record, began: float) -> None:
        noise = random.Random(self.seed)
        writer = TelemetryWriter(record)
        for name, facts in self._sources().items():
            if name in self.missing:
                writer.add_source(name, available=False, why="not here", remedy="")
            else:
                writer.add_source(name, available=True, facts=facts)
        looks = max(1, int(self.seconds / PERIOD_S))
        pending = sorted(self.events, key=lambda one: one[1])
        cpu_s = 0.0
        for look in range(looks + 1):
            part = look / max(1, looks)
            cpu_s += self.cores(part) * PERIOD_S
            seen: list[tuple[str, Sample | SourceEvent]] = []
            if "nvml" not in self.missing:
                for index, card in enumerate(self.cards):
                    seen += [("nvml", sample) for sample in card.look(index, part, noise)]
            if "processes" not in self.missing:
                values = {"cpu_seconds_total": cpu_s, "processes": 9}
                seen.append(("processes", Sample("host:tree", values)))
            if self.waited_s and "rendezvous" not in self.missing:
                waited_s = self.waited_s - (1 - part) * self.seconds
                wait = Sample("rendezvous", {"waiting_seconds": max(0.0, waited_s)})
                seen.append(("rendezvous", wait))
            if self.host:
                host = {name: curve(part) for name, curve in self.host.items()}
                seen.append(("pressure", Sample("host", host)))
            while pending and pending[0][1] <= part:
                source, at, event = pending.pop(0)
                if source not in self.missing:
                    when = began + at * self.seconds
                    seen.append((source, _at(event, when)))
            at_s = min(self.seconds, max(self.first_sample_s, look * PERIOD_S))
            writer.add(began + at_s, seen)

    def _sources(self) -> dict[str, dict[str, Any]]:
        gpus = [
            {"index": index, "pci_bus_id": f"0000{pci(index).upper()}", "name": self.gpu_model}
            for index in range(len(self.cards))
        ]
        return {
            "nvml": {"gpus": gpus},
            "kernel_log": {},
            "cgroup": {"paths": {"memory": self.memory_cgroup}},
            "processes": {},
            "pressure": {},
            "environment": {"variables": self.variables, **self.given},
            "checkpoints": self.checkpoints,
            "rendezvous": {},
            **({"slurm": self.slurm} if self.slurm else {}),
        }


def pci(index: int) -> str:
    """Return the PCI address of a GPU."""
    return f"0000:{index + 1:02x}:00"


def _at(event: SourceEvent, when: float) -> SourceEvent:
    return SourceEvent(event.what, event.of, event.text, event.fields, when)
