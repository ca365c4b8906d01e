"""Live runs and the runs that ended last, read again and again at a bounded cost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

from gpualert_common.artifacts import read_last_lines
from gpualert_common.codec import encode
from gpualert_common.current_condition import find_unsupervised
from gpualert_common.diagnose.warning_state import WarningState
from gpualert_common.listing.condition import LIVE, Condition
from gpualert_common.listing.run_list import list_runs
from gpualert_common.listing.run_summary import RunSummary, summarize_checked
from gpualert_common.live_facts import (
    LiveProgress,
    MachineLoad,
    find_last_output,
    read_live_progress,
    read_machine_load,
)
from gpualert_common.record import Record
from gpualert_common.record_locations import list_record_paths
from gpualert_common.redact import Redactor
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.structs import Struct
from gpualert_common.telemetry.series import Telemetry

READ_BYTES = 32 << 10
"""End of each log and of its index: some hundred lines, which have the newest progress."""
MOST_TAIL_LINES = 200
_STATE_PAUSE_S = 1.5
_PROGRESS_PAUSE_S = 2.0
_MOST_SHARE = 0.05
"""Share of a core that the reading of the logs of all runs may take, however long they are."""


class LiveRun(Struct, frozen=True, kw_only=True):
    """A run with its newest numbers; ``warnings`` are those that are active, with advice.

    ``warning_kinds`` are the kinds of all that are active, ``problem`` says why the numbers are
    missing.
    """

    summary: RunSummary
    progress: LiveProgress = LiveProgress()
    load: MachineLoad = MachineLoad()
    last_output_at: float | None = None
    warnings: tuple[str, ...] = ()
    warning_kinds: tuple[str, ...] = ()
    problem: str = ""

    @property
    def is_live(self) -> bool:
        """True while the run goes on."""
        return self.summary.condition in LIVE

    def to_json(self) -> dict[str, object]:
        """Return the object that ``gpualert top --json`` prints."""
        progress = {
            **encode(self.progress),
            "left_s": self.progress.left_s,
            "share": self.progress.share,
        }
        return {
            **self.summary.to_json(),
            "progress": progress,
            "load": encode(self.load),
            "last_output_at": self.last_output_at,
            "warnings": list(self.warnings),
        }


class LiveRunReader:
    """Reader of a run in progress: ``live`` as it was read last, and when its log is read again."""

    def __init__(self) -> None:
        self.live: LiveRun | None = None
        self._due = 0.0
        self._telemetry = Telemetry()
        self._progress = LiveProgress()
        self._printed_at: float | None = None

    def read(self, summary: RunSummary, runs: int) -> None:
        """Read the newest numbers; those of the log rarely if ``runs`` is large, or it is long."""
        text = TextSanitizer(NoMasks())
        try:
            record = Record.open(summary.path)
            try:
                self._telemetry.read(record)
                self._read_log(record, runs)
                warnings = WarningState(record.events())
                self.live = LiveRun(
                    summary=summary,
                    progress=self._progress,
                    load=read_machine_load(self._telemetry, record.leader_pid),
                    last_output_at=find_last_output(record),
                    warnings=text.paragraphs(warnings.advice()),
                    warning_kinds=tuple(kind for kind, _at, _text in warnings.list_active()),
                )
            finally:
                record.close()
        except Exception as error:  # noqa: BLE001 - a broken record must not end the view
            self.live = LiveRun(
                summary=summary, problem=text.line(f"{type(error).__name__}: {error}")
            )

    def _read_log(self, record: Record, runs: int) -> None:
        printed_at, now = find_last_output(record), time.monotonic()
        if now < self._due or printed_at == self._printed_at:
            return
        began = time.thread_time()
        self._progress = read_live_progress(record, most_bytes=READ_BYTES)
        used_s = time.thread_time() - began
        self._printed_at = printed_at
        self._due = now + max(_PROGRESS_PAUSE_S, runs * used_s / _MOST_SHARE)


class LiveRuns:
    """The runs of some state directories: all that go on, and the last that have ended."""

    def __init__(
        self, places: Iterable[str], most_ended: int, on_note: Callable[[str], None]
    ) -> None:
        self._places = list(places)
        self._most_ended = most_ended
        self._known: dict[str, LiveRunReader] = {}
        self._ended: dict[str, RunSummary] = {}
        self._seen: set[str] = set()
        self._due = 0.0
        listed = list_runs(self._places, on_note=on_note)
        for run in listed:
            self._seen.add(run.path)
            self._sort_in(find_unsupervised(run))

    def read(self) -> list[LiveRun]:
        """Return the runs, those in progress first, the newest on top.

        Nothing is read again within a second and a half.
        """
        now = time.monotonic()
        if now < self._due:
            return self._list()
        self._due = now + _STATE_PAUSE_S
        present = list_record_paths(self._places)
        for path in present:
            if path not in self._seen:
                self._seen.add(path)
                self._known[path] = LiveRunReader()
        self._forget_missing(set(present))
        for path in list(self._known):
            self._read_known(path)
        return self._list()

    def _list(self) -> list[LiveRun]:
        live = [one.live for one in self._known.values() if one.live is not None]
        live.sort(key=lambda run: run.summary.started_at or 0.0, reverse=True)
        ended = sorted(self._ended.values(), key=_find_end, reverse=True)
        self._ended = {run.path: run for run in ended[: self._most_ended]}
        return [*live, *(LiveRun(summary=run) for run in self._ended.values())]

    def _sort_in(self, run: RunSummary) -> None:
        if run.condition in LIVE:
            self._known.setdefault(run.path, LiveRunReader())
        else:
            self._known.pop(run.path, None)
            self._ended[run.path] = run

    def _forget_missing(self, present: set[str]) -> None:
        for path in self._seen - present:
            self._seen.discard(path)
            self._known.pop(path, None)
            self._ended.pop(path, None)

    def _read_known(self, path: str) -> None:
        summary = summarize_checked(path)
        if summary is None:  # it is removed, or another user's
            del self._known[path]
            return
        summary = find_unsupervised(summary)
        if summary.condition is Condition.DAMAGED:  # perhaps only until it is read again
            self._known[path].live = LiveRun(summary=summary)
            return
        if summary.condition in LIVE:
            self._known[path].read(summary, len(self._known))
        self._sort_in(summary)


def _find_end(run: RunSummary) -> float:
    """Return when a run ended, or else began; for a damaged record, when that was changed."""
    at = run.ended_at or run.started_at
    if at is None:
        try:
            return os.stat(run.path).st_mtime
        except OSError:
            return 0.0
    return at


class RunDetails(Struct, frozen=True):
    """The last lines of a run's log, with secrets masked and safe to show."""

    path: str
    lines: tuple[str, ...]


def read_details(path: str) -> RunDetails:
    """Return the details of the run at a path; a problem stands in place of the lines."""
    try:
        record = Record.open(path)
        try:
            return RunDetails(path, read_last_lines(record, Redactor(), MOST_TAIL_LINES))
        finally:
            record.close()
    except Exception as error:  # noqa: BLE001 - a broken record must not end the view
        text = TextSanitizer(NoMasks()).line(str(error))
        return RunDetails(path, (f"its log cannot be read: {text}",))
