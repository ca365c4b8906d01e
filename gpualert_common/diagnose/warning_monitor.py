"""Monitor of a run in progress, which raises and withdraws early warnings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from gpualert_common.classify.resolution import Resolution, resolve
from gpualert_common.classify.rules import RuleSet
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.capture_schedule import OFF, CaptureSchedule
from gpualert_common.diagnose.detection import Detection
from gpualert_common.diagnose.dump_schedule import DumpSchedule, Suspicion
from gpualert_common.diagnose.evidence import Evidence, OutputTiming, RunObservations
from gpualert_common.diagnose.phenomena import detect_warnings
from gpualert_common.diagnose.remaining_time import find_remaining_time
from gpualert_common.diagnose.step_pace import PaceWindows, StepPositions
from gpualert_common.diagnose.warning_state import SLOW, WarningState
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.model import ExitFacts
from gpualert_common.progress import Progress
from gpualert_common.record import Event
from gpualert_common.regex import compile_bytes
from gpualert_common.stacks.dump import Dump
from gpualert_common.telemetry.series import Telemetry
from gpualert_common.telemetry.source import PERIOD_S

if TYPE_CHECKING:
    from gpualert_common.history import PastRun

_NOT_FINITE = compile_bytes(rb"(?i)\b(?:nan|inf|infinity)\b")
"""Without such a word all losses are finite, and reading the training's progress is not needed."""

_READING_SHARE = 1 / 200
"""Share of a core for reading the progress: its last 64 KiB are read again each time."""

_LONGEST_PAUSE_S = 15.0
"""Longest pause between two readings.  The first reading compiles patterns, which is slow."""


class WarningMonitor:
    """The early warnings of a run, checked every few seconds.  Not thread-safe."""

    def __init__(
        self,
        launch_record: LaunchRecord,
        events: Iterable[Event],
        pid: int | None,
        rules: RuleSet,
    ) -> None:
        """``events`` are those of the record: an earlier recorder may have raised warnings."""
        known = list(events)
        self._started_at = launch_record.created_at
        self._command = launch_record.command
        self._hang_timeout_s = launch_record.hang_timeout_s
        self._is_output_read = launch_record.unread_output is None
        self._pid = pid
        self._facts = ExitFacts(code=None)
        self._resolution: Resolution = resolve((), self._facts, rules, running=True)
        self._check_due = self._progress_due = 0.0
        self._printed_at = self._checked_at = self._back_at = 0.0
        self._timing = OutputTiming()
        self._may_not_be_finite = self._has_new_output = True
        self._limit_due = 0.0
        self._positions = StepPositions()
        self._windows = PaceWindows()
        self._broken: set[str] = set()
        self._dumps = DumpSchedule()
        self._watches_pace = launch_record.on_slowdown != OFF
        self._captures = CaptureSchedule(launch_record.on_slowdown, known)
        self.state = WarningState(known)

    def note_output(self, data: bytes) -> None:
        """Take note of new output of the run."""
        self._has_new_output = True
        if not self._may_not_be_finite:
            self._may_not_be_finite = _NOT_FINITE.search(data) is not None

    def check(
        self,
        telemetry: Telemetry,
        stacks: tuple[Dump, ...],
        printed_at: float,
        read_progress: Callable[[], Progress | None],
        earlier: tuple[PastRun, ...] = (),
    ) -> list[Event]:
        """Return the events to store, usually none.  Checks no more often than sources sample.

        ``printed_at`` is the time at which the logs last grew, ``earlier`` are the earlier runs of
        the same training.
        """
        clock = time.monotonic()
        if clock < self._check_due:
            return []
        self._check_due = clock + PERIOD_S
        now = time.time()
        if self._checked_at and not 0 <= now - self._checked_at <= thresholds.SAMPLE_DELAY_S:
            self._back_at = now  # the machine slept, or its clock was set: that is not silence
            self._windows.interrupt()
        self._checked_at = now
        if not self._is_output_read:
            printed_at = now  # its silence is not known
        self._note_print(min(printed_at, now))
        observations = RunObservations(
            telemetry,
            self._pid,
            self._started_at,
            now,
            last_output_at=min(max(self._started_at, printed_at, self._back_at), now),
            progress=self._progress(clock, read_progress, telemetry, now),
            command=self._command,
            stepping=self._positions.stepping,
            timing=self._timing if self._is_output_read else None,
            stacks=stacks,
            hang_timeout_s=self._hang_timeout_s,
            earlier=earlier,
            paces=self._windows.paces,
        )
        evidence = Evidence(self._resolution, self._facts, observations)
        detections, problems = self._detect(evidence, now)
        changes = self.state.update(detections, now)
        silence_s = now - observations.last_output_at
        wanted = self._dumps.update(self._list_suspicions(silence_s), stacks, now)
        wanted += self._captures.update(self._describe_slowdown(detections), now)
        return [*problems, *changes, *wanted]

    def _describe_slowdown(self, detections: Mapping[str, Detection]) -> str:
        """Return the warning of slow steps in words; "" while there is none."""
        found = detections.get(SLOW)
        return found.summary if found is not None and self.state.is_active(SLOW) else ""

    def _list_suspicions(self, silence_s: float) -> list[Suspicion]:
        """Return why the run seems to hang, the strongest reason last."""
        found = []
        usual_s = thresholds.SILENCE_STEPS * self._timing.longest_pause_s
        silent = f"no output for {silence_s:.0f} s"
        if silence_s >= max(thresholds.SILENCE_S, usual_s):
            found.append(Suspicion(silent, is_certain=self.state.is_active("log_silent")))
        if self.state.is_active("gpu_idle"):
            found.append(Suspicion("the GPUs are idle"))
        if self._hang_timeout_s is not None and silence_s >= self._hang_timeout_s:
            found.append(Suspicion(f"{silent}, longer than the hang timeout"))
        return found

    def _detect(self, evidence: Evidence, now: float) -> tuple[dict[str, Detection], list[Event]]:
        """Return the detections, and an event for each detector that fails for the first time."""
        detections, problems = {}, []
        for kind, found in detect_warnings(evidence):
            if isinstance(found, Detection):
                detections[kind] = found
            elif kind not in self._broken:
                self._broken.add(kind)
                problem = f"{type(found).__name__}: {found}"
                problems.append(Event("warning_failed", now, kind=kind, problem=problem))
        return detections, problems

    def _note_print(self, at: float) -> None:
        if at <= self._printed_at:
            return
        pause_s = at - max(self._printed_at, self._back_at) if self._printed_at else 0.0
        longest_s = max(self._timing.longest_pause_s, pause_s)
        self._timing = OutputTiming(self._timing.moments + 1, longest_s)
        self._printed_at = at

    def _progress(
        self,
        clock: float,
        read_progress: Callable[[], Progress | None],
        telemetry: Telemetry,
        now: float,
    ) -> Progress | None:
        """Return the training's progress when it may have news, at a bounded cost."""
        may_recover = self._has_new_output and self.state.is_active("nan")
        may_have_news = self._may_not_be_finite or may_recover
        is_for_limit = self._is_due_for_limit(clock, telemetry, now)
        is_for_pace = self._watches_pace and self._has_new_output
        if not (may_have_news or is_for_limit or is_for_pace) or clock < self._progress_due:
            return None
        began_s = time.thread_time()
        progress = read_progress()
        pause_s = (time.thread_time() - began_s) / _READING_SHARE
        self._progress_due = clock + min(pause_s, _LONGEST_PAUSE_S)
        self._may_not_be_finite = self._has_new_output = False
        if is_for_limit:
            progress = progress or Progress(files=())
        self._note_position(progress, is_for_limit=is_for_limit)
        return progress

    def _note_position(self, progress: Progress | None, *, is_for_limit: bool) -> None:
        step = None if progress is None else progress.counts.last_step
        if progress is None or step is None:
            return
        if is_for_limit:  # seldom, so that the positions cover the time before the limit
            self._positions.add(self._printed_at, step)
        if self._watches_pace:
            is_reported = any(one.step_s for one in progress.points[-1:])
            self._windows.add(self._printed_at, step, is_reported=is_reported)

    def _is_due_for_limit(self, clock: float, telemetry: Telemetry, now: float) -> bool:
        """Return whether the limit of the job comes so near that the progress matters."""
        if clock < self._limit_due:
            return False
        remaining = find_remaining_time(telemetry, now)
        pause_s = None if remaining is None else remaining.reading_pause_s
        if pause_s is None:
            return False
        self._limit_due = clock + pause_s
        return True
