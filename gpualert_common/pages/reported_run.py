"""The run that a report is about, and the parts of its record, each read when it is needed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property

from gpualert_common.charts.drawing import TIME_LIMIT_S
from gpualert_common.errors import RecordError
from gpualert_common.jobs.reading.isolated_reading import JobReading
from gpualert_common.jobs.reading.job_record import read_stored_job
from gpualert_common.kineto.trace_analyses import StoredAnalysis, read_newest_analysis
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.model import Verdict
from gpualert_common.profiles.profile import Profile
from gpualert_common.profiles.profile_files import read_profiles
from gpualert_common.record import OUTCOME, Event, Record
from gpualert_common.report import formatting
from gpualert_common.report.run_facts import Fact
from gpualert_common.report.run_view import RunView, view_run
from gpualert_common.report.text_sanitizer import Masks, TextSanitizer
from gpualert_common.spec import Ending
from gpualert_common.stacks.dump import Dump
from gpualert_common.stacks.storage import read_dumps
from gpualert_common.structs import replace
from gpualert_common.telemetry.series import Telemetry


class ReportedRun:
    """One run with its verdict.  Damaged parts of its record are as if they were missing.

    ``state_facts`` are those about a run in progress, masked.  A picture may take ``drawing_s``.
    ``job`` is the job of the run as it was read from its directory.
    """

    def __init__(
        self,
        record: Record,
        verdict: Verdict | None,
        masks: Masks,
        facts: Sequence[Fact] = (),
        *,
        drawing_s: float = TIME_LIMIT_S,
        job: JobReading | None = None,
    ) -> None:
        self.record = record
        self._job = job
        self.drawing_s = drawing_s
        self.verdict = verdict
        self.masks = masks
        self.text = TextSanitizer(masks)
        self.spec: LaunchRecord = record.spec
        self.state_facts = [(label, self.text.prose(value)) for label, value in facts]
        outcome = None
        with suppress(RecordError, OSError):
            outcome = record.read_json(OUTCOME)
        self.view: RunView = view_run(record, verdict, masks=masks, outcome=outcome)

    @property
    def lasted_s(self) -> float | None:
        """Duration of the run so far; None where its start or its end is not known."""
        if self.view.disposition == "running" and self.view.started_at:
            return max(0.0, time.time() - self.view.started_at)
        return self.view.duration_s

    @cached_property
    def ending(self) -> Ending | None:
        """End of the run; None while there is none."""
        with suppress(RecordError, OSError):
            return self.record.ending
        return None

    @cached_property
    def events(self) -> list[Event]:
        """Events of the record, in order."""
        with suppress(RecordError, OSError):
            return list(self.record.events())
        return []

    @cached_property
    def telemetry(self) -> Telemetry:
        """Samples and events of the sources; empty where there are none."""
        telemetry = Telemetry()
        with suppress(OSError):
            telemetry.read(self.record)
        return telemetry

    @cached_property
    def dumps(self) -> list[Dump]:
        """Stack dumps, oldest first."""
        with suppress(RecordError, OSError):
            return read_dumps(self.record)
        return []

    @cached_property
    def profile(self) -> Profile | None:
        """The newest profile; None without one."""
        with suppress(RecordError, OSError):
            return next((profile for _path, profile in read_profiles(self.record)), None)
        return None

    @cached_property
    def trace(self) -> StoredAnalysis | None:
        """The newest analysis of a trace; None where there is none."""
        with suppress(RecordError, OSError):
            return read_newest_analysis(self.record)
        return None

    @cached_property
    def job(self) -> JobReading | None:
        """The job of the run: as its directory has it, else as the record does; None without it."""
        if self._job is not None and self._job.report is not None:
            return self._job
        stored = read_stored_job(self.record)
        if stored is None:
            return self._job
        problem = self._job.problem if self._job is not None else ""
        return replace(stored, problem=problem)

    def format_time(self, at: float | None) -> str:
        """Return a time as this report shows all of them; "" where it is not known."""
        return formatting.time(at) if at else ""
