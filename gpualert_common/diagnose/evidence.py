"""All that a verdict is made from, put so that a family can ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpualert_common.classify.resolution import Resolution
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.measured import Measured, measured
from gpualert_common.model import Claim, Disposition, ExitFacts
from gpualert_common.progress import Progress
from gpualert_common.telemetry.series import Series, Telemetry, TelemetryEvent

if TYPE_CHECKING:
    from gpualert_common.history import PastRun

_SLACK_S = 2.0
"""Between an event and its being noticed, by clocks that are not the same."""


@dataclass(frozen=True, slots=True)
class Printing:
    """How a run that goes on has printed: ``moments`` at which there was something new, and the
    longest pause between two of them.
    """

    moments: int = 0
    longest_pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Observed:
    """What was seen of a run beside its log.

    ``pid`` is the leader's; times are in seconds since the epoch, ``ended_at`` that of now for a
    run that goes on, ``last_output_at`` that of the launch for one that has printed nothing.
    ``progress`` is what its logs tell of a training, None where they could not be read for that;
    ``printing`` is known only of a run that is watched while it goes on; ``stepping`` is how many
    steps it made in how many seconds by the clock.  ``earlier`` are the runs of the same training
    before it, newest first.
    """

    telemetry: Telemetry
    pid: int | None = None
    started_at: float = 0.0
    ended_at: float = 0.0
    last_output_at: float = 0.0
    progress: Progress | None = None
    command: tuple[str, ...] = ()
    printing: Printing | None = None
    host: str | None = None
    stepping: tuple[int, float] | None = None
    earlier: tuple[PastRun, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """What is known of one run; ``resolution`` is what log and status say by themselves."""

    resolution: Resolution
    facts: ExitFacts
    observed: Observed

    # -- how it ended ----------------------------------------------------------------------

    @property
    def completed(self) -> bool:
        """True for a run that ended well by its status and its log."""
        ended_well = self.resolution.disposition is Disposition.COMPLETED
        return ended_well and self.resolution.cause == "none"

    @property
    def goes_on(self) -> bool:
        """True for a run that has not ended."""
        return self.resolution.disposition is Disposition.RUNNING

    @property
    def failed(self) -> bool:
        """True for a run that ended, and not well, or of which that is not known."""
        return not self.completed and not self.goes_on

    @cached_property
    def trained(self) -> bool:
        """True where training had begun: a step was told, or its GPUs had been at work."""
        progress = self.progress
        told = progress is not None and (
            any(point.loss is not None for point in progress.points)
            or (progress.counts.last_step or 0) >= 1
        )
        return told or self.resolution.trained or self.gpu_work_s >= thresholds.TRAINED_GPU_S

    # -- what was seen ---------------------------------------------------------------------

    @property
    def telemetry(self) -> Telemetry:
        """All numbers and events."""
        return self.observed.telemetry

    @property
    def progress(self) -> Progress | None:
        """What the logs tell of a training."""
        return self.observed.progress

    @property
    def command(self) -> tuple[str, ...]:
        """What was run; empty for a log alone."""
        return self.observed.command

    @property
    def started_at(self) -> float:
        """When it was launched."""
        return self.observed.started_at

    @property
    def ended_at(self) -> float:
        """When it ended, or now."""
        return self.observed.ended_at

    @property
    def lasted_s(self) -> float:
        """For how long it ran; 0 for a log alone."""
        return max(0.0, self.ended_at - self.started_at)

    @cached_property
    def measured(self) -> Measured:
        """What it used and did, in numbers."""
        return measured(self)

    def facts_of(self, source: str) -> Mapping[str, Any]:
        """What a source says once; empty where it could not be had."""
        found = self.telemetry.sources.get(source)
        return found.facts if found is not None and found.available else {}

    def can_see(self, source: str) -> bool:
        """True where a source was there to see something: only then its silence says anything."""
        found = self.telemetry.sources.get(source)
        return found is not None and found.available

    def happened(self, *what: str, within_s: float = float("inf")) -> list[TelemetryEvent]:
        """Events of these kinds during the run, and at most so long before its end."""
        since = max(self.started_at, self.ended_at - within_s)
        until = self.ended_at + _SLACK_S
        return [one for one in self.telemetry.happened(*what) if since <= one.at <= until]

    def series(self, of: str, name: str) -> Series:
        """One number over time."""
        return self.telemetry.series(of, name)

    @cached_property
    def pids(self) -> frozenset[int]:
        """The processes that are known to be the run's."""
        found = {self.observed.pid} if self.observed.pid is not None else set()
        for event in self.telemetry.happened("processes_seen"):
            pids = event.fields.get("pids")
            for some in pids.values() if isinstance(pids, dict) else ():
                listed = some if isinstance(some, list) else ()
                found |= {pid for pid in listed if isinstance(pid, int)}
        return frozenset(found)

    @cached_property
    def gpus(self) -> tuple[str, ...]:
        """The GPUs that the run used: on which its processes held memory.

        All on which any memory is held where NVML shows no process at all, as in most containers;
        of these those that were made visible to it, where that is known.
        """
        every = [of for of in self.telemetry.things("gpu") if "/" not in of]
        holders = [of for of in self.telemetry.things("gpu") if "/pid:" in of]
        if not holders:
            peaks = {of: self.series(of, "memory_used_bytes").peak for of in every}
            held = tuple(of for of in every if peaks[of] >= thresholds.GPU_USED_MIB * 2**20)
            visible = self._visible_gpus
            return tuple(of for of in held if of in visible) or held
        ours = {
            of.partition("/")[0]
            for of in holders
            if int(of.rpartition(":")[2]) in self.pids
            and self.series(of, "memory_used_bytes").peak >= thresholds.GPU_USED_MIB * 2**20
        }
        return tuple(of for of in every if of in ours)

    @property
    def _visible_gpus(self) -> frozenset[str]:
        """The GPUs that the run was given, by their numbers; empty where that is not known."""
        given = self.facts_of("environment").get("variables", {}).get("CUDA_VISIBLE_DEVICES", "")
        return frozenset(f"gpu:{one.strip()}" for one in str(given).split(","))

    @cached_property
    def gpu_model(self) -> str | None:
        """What its GPUs are called; None where that is not known."""
        indices = {number(of) for of in self.gpus}
        listed = self.facts_of("nvml").get("gpus", ())
        names = {one.get("name") for one in listed if str(one.get("index")) in indices} - {None}
        return ", ".join(sorted(map(str, names))) or None

    def load_of(self, gpu: str) -> float | None:
        """How much a GPU worked once the run held its memory, in percent; None where too little was
        seen."""
        held = self.series(gpu, "memory_used_bytes")
        begins = next(
            (at for at, value in zip(held.at, held.value, strict=True) if value > 0), None
        )
        load = self.series(gpu, "sm_activity_percent")
        if not load:  # before Hopper; in it counts any kernel, however small
            load = self.series(gpu, "utilization_percent")
        load = load if begins is None else load.since(begins)
        if len(load.value) < thresholds.LEAST_LOOKS:
            return None
        return sum(load.value) / len(load.value)

    @cached_property
    def gpu_work_s(self) -> float:
        """For how long the busiest GPU of the run was at work, with more than a context on it."""
        return max((self._work_s(gpu) for gpu in self.gpus), default=0.0)

    def _work_s(self, gpu: str) -> float:
        load, held = (
            self.series(gpu, name) for name in ("utilization_percent", "memory_used_bytes")
        )
        total = self.series(gpu, "memory_total_bytes").peak
        if len(load.at) < 2 or held.peak < thresholds.CONTEXT_ONLY * total:
            return 0.0
        share = sum(load.value) / (100 * len(load.value))
        return share * (load.at[-1] - load.at[0])


def number(of: str) -> str:
    """The index in the name of a thing: "3" of "gpu:3"."""
    return of.partition(":")[2]


def claim(happening: TelemetryEvent) -> Claim:
    """The claim that an event makes by itself."""
    return Claim(happening.text, happening.source)


def seen(text: str, source: str) -> Claim:
    """A claim that rests on numbers of a source."""
    return Claim(text, source)
