"""Evidence about one run, in the form that families and warnings use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpualert_common.causes import NO_CAUSES
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.resolution import Resolution
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.run_gpus import (
    find_visible_gpus,
    list_gpus,
    list_pids,
    read_environment,
    read_facts,
)
from gpualert_common.diagnose.step_pace import StepPaces
from gpualert_common.model import Claim, Disposition, ExitFacts
from gpualert_common.progress import Progress
from gpualert_common.stacks.dump import Dump
from gpualert_common.stacks.reasons import HangExplanation, explain_hang
from gpualert_common.structs import Struct
from gpualert_common.telemetry.series import Series, Telemetry, TelemetryEvent

if TYPE_CHECKING:
    from gpualert_common.history import PastRun


class OutputTiming(Struct, frozen=True):
    """Output of a run in progress: how often it grew, and the longest pause before it did."""

    moments: int = 0
    longest_pause_s: float = 0.0


class Capture(Struct, frozen=True):
    """One profile or trace; ``text`` is its finding in one sentence.

    ``source`` is "profile" or "trace", ``reason`` the warning before it.  ``late_rank`` is the rank
    that is slower than the others, None where none is.  ``is_lasting`` says that the steps were
    slow up to the end of the run.
    """

    source: str
    at: float
    reason: str
    text: str
    late_rank: int | None = None
    is_lasting: bool = False


class RunObservations(Struct, frozen=True):
    """Evidence about a run other than the messages in its logs.

    ``pid`` is the leader's.  Times are in seconds since the epoch; of a run in progress
    ``ended_at`` is the present time.  ``stopped_at`` is the time at which the run was stopped, or
    ended by itself.  ``last_output_at`` is the time of its last output before that, or of the
    launch.  ``progress`` is None where the logs could not be read for it; ``timing`` is known only
    while the run is monitored.  ``stepping`` holds a number of steps, and the seconds that they
    took by the clock.  ``step_times`` are the steps of a run on GPUs that ended, each with a time
    before which its line was not printed.  ``earlier`` are the earlier runs of the same training,
    newest first.  ``stacks`` are the dumps in its record, oldest first.  ``hang_timeout_s`` is the
    user's limit for a time without output.  ``paces`` are known only while a run with
    ``on_slowdown`` is monitored; ``captures`` are the profiles and traces that it took then.
    ``is_traced`` says that PyTorch was asked for a trace when the run ended.
    """

    telemetry: Telemetry
    pid: int | None = None
    started_at: float = 0.0
    ended_at: float = 0.0
    stopped_at: float = 0.0
    last_output_at: float = 0.0
    progress: Progress | None = None
    command: tuple[str, ...] = ()
    timing: OutputTiming | None = None
    host: str | None = None
    stepping: tuple[int, float] | None = None
    step_times: tuple[tuple[float, int], ...] = ()
    earlier: tuple[PastRun, ...] = ()
    stacks: tuple[Dump, ...] = ()
    hang_timeout_s: float | None = None
    paces: StepPaces | None = None
    captures: tuple[Capture, ...] = ()
    is_traced: bool = False


class Evidence(Struct, frozen=True, dict=True):
    """All evidence about one run; ``resolution`` is the cause by log and exit status alone.

    ``readings`` are those of its logs; a run in progress has none.
    """

    resolution: Resolution
    facts: ExitFacts
    observations: RunObservations
    readings: tuple[LogReading, ...] = ()

    # -- its end -----------------------------------------------------------------------------

    @property
    def is_completed(self) -> bool:
        """True when exit status and log report success."""
        is_success = self.resolution.disposition is Disposition.COMPLETED
        return is_success and self.resolution.cause == "none"

    @property
    def may_be_completed(self) -> bool:
        """True when nothing reports a failure: the run succeeded, or its end is not known."""
        is_open = self.resolution.disposition is Disposition.UNKNOWN
        return self.is_completed or (is_open and self.resolution.cause in NO_CAUSES)

    @property
    def is_running(self) -> bool:
        """True for a run in progress."""
        return self.resolution.disposition is Disposition.RUNNING

    @property
    def has_failed(self) -> bool:
        """True when the run ended without success, or its success is unknown."""
        return not self.is_completed and not self.is_running

    @cached_property
    def has_trained(self) -> bool:
        """True when training had begun: a step was reported, or the GPUs had worked."""
        progress = self.progress
        has_steps = progress is not None and (
            any(point.loss is not None for point in progress.points)
            or (progress.counts.last_step or 0) >= 1
        )
        has_worked = has_steps or self.resolution.has_trained
        return has_worked or self.gpu_work_s >= thresholds.TRAINED_GPU_S

    # -- observations ------------------------------------------------------------------------

    @property
    def telemetry(self) -> Telemetry:
        """All series and events."""
        return self.observations.telemetry

    @property
    def progress(self) -> Progress | None:
        """Progress of the training, as its logs report it."""
        return self.observations.progress

    @property
    def command(self) -> tuple[str, ...]:
        """The command of the run; empty for a log alone."""
        return self.observations.command

    @property
    def started_at(self) -> float:
        """Time of the launch."""
        return self.observations.started_at

    @property
    def ended_at(self) -> float:
        """Time of the end; of a run in progress the present time."""
        return self.observations.ended_at

    @property
    def silence_s(self) -> float:
        """Time from the last output to the end, or to the time at which the run was stopped."""
        end = self.observations.stopped_at or self.ended_at
        return max(0.0, end - self.observations.last_output_at)

    @cached_property
    def hang(self) -> HangExplanation | None:
        """Reason of a hang by the dumps since the last output; None without one."""
        last_output_at = self.observations.last_output_at
        dumps = [one for one in self.observations.stacks if one.at > last_output_at]
        if not dumps:
            return None
        earlier = [
            one for one in dumps[:-1] if dumps[-1].at - one.at >= thresholds.LEAST_BETWEEN_DUMPS_S
        ]
        return explain_hang(dumps[-1], earlier[-1] if earlier else None)

    @property
    def duration_s(self) -> float:
        """Duration of the run; 0 for a log alone."""
        return max(0.0, self.ended_at - self.started_at)

    def count_steps_since(self, at: float) -> int:
        """Return the number of steps that the log reported after this time; 0 if not known."""
        steps = [step for when, step in self.observations.step_times if when >= at]
        return max(steps) - min(steps) if steps else 0

    def get_facts(self, source: str) -> Mapping[str, Any]:
        """Return the constant facts of a source; none for one that is not available."""
        return read_facts(self.telemetry, source)

    def is_available(self, source: str) -> bool:
        """Return whether a source was available.  Only then its silence is evidence."""
        found = self.telemetry.sources.get(source)
        return found is not None and found.available

    def events(self, *kinds: str, within_s: float = float("inf")) -> list[TelemetryEvent]:
        """Return the events of these kinds, of the last *within_s* seconds of the run."""
        since = max(self.started_at, self.ended_at - within_s)
        until = self.ended_at + thresholds.CLOCK_SLACK_S
        return [one for one in self.telemetry.find_events(*kinds) if since <= one.at <= until]

    def series(self, of: str, name: str) -> Series:
        """Return one metric of a thing ("gpu:0", "host") over time."""
        return self.telemetry.series(of, name)

    @cached_property
    def pids(self) -> frozenset[int]:
        """The known processes of the run."""
        return list_pids(self.telemetry, self.observations.pid)

    # -- GPUs --------------------------------------------------------------------------------

    @cached_property
    def gpus(self) -> tuple[str, ...]:
        """The GPUs of the run (:func:`~.run_gpus.list_gpus`)."""
        return list_gpus(self.telemetry, self.pids)

    def may_use(self, gpu: str) -> bool:
        """Return whether the run uses a GPU, or ended before its samples could show that."""
        if gpu in self.gpus:
            return True
        every = self.telemetry.list_entities("gpu")
        has_own = any("/pid:" in of and int(of.rpartition(":")[2]) in self.pids for of in every)
        samples = max((len(self.series(of, "memory_used_bytes").at) for of in every), default=0)
        visible = find_visible_gpus(self.telemetry)
        is_hidden = visible.isdisjoint({gpu, "gpu:"})  # "gpu:" where no variable restricts them
        return not has_own and samples <= thresholds.TOO_FEW_SAMPLES and not is_hidden

    def has_baseline(self, gpu: str) -> bool:
        """Return whether the first sample of a GPU shows its state before the run used it."""
        first = self.series(gpu, "memory_used_bytes").at[:1]
        if not first:
            return False
        used_from = [
            self.series(of, "memory_used_bytes").at[0]
            for of in self.telemetry.list_entities("gpu")
            if of.startswith(f"{gpu}/pid:") and int(of.rpartition(":")[2]) in self.pids
        ]
        is_early = first[0] <= self.started_at + thresholds.BASELINE_WITHIN_S
        return is_early or min(used_from, default=0.0) > first[0]

    @property
    def environment(self) -> Mapping[str, Any]:
        """The recorded environment variables of the run."""
        return read_environment(self.telemetry)

    @cached_property
    def gpu_model(self) -> str | None:
        """The model of the run's GPUs; None where that is not known."""
        indices = {parse_index(of) for of in self.gpus}
        listed = self.get_facts("nvml").get("gpus", ())
        names = {one.get("name") for one in listed if str(one.get("index")) in indices} - {None}
        return ", ".join(sorted(map(str, names))) or None

    def gpu_load(self, gpu: str) -> float | None:
        """Return the mean load of a GPU in percent, from the time at which the run held memory on
        it; None for too few samples."""
        held = self.series(gpu, "memory_used_bytes")
        rows = zip(held.at, held.value, strict=True)
        held_from = next((at for at, value in rows if value > 0), None)
        load = self.series(gpu, "sm_activity_percent")
        if not load:  # only from Hopper on; utilization counts any kernel, however small
            load = self.series(gpu, "utilization_percent")
        load = load if held_from is None else load.since(held_from)
        if len(load.value) < thresholds.LEAST_SAMPLES:
            return None
        return sum(load.value) / len(load.value)

    @cached_property
    def gpu_work_s(self) -> float:
        """Working time of the busiest GPU that held more than a CUDA context."""
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


def parse_index(of: str) -> str:
    """Return the index in the name of a thing: "3" of "gpu:3"."""
    return of.partition(":")[2]


def claim_of_event(event: TelemetryEvent) -> Claim:
    """Return the claim that an event makes by itself."""
    return Claim(event.text, event.source)
