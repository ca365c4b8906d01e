"""The job of a run in its record: as it was when the run sent the alert about it."""

from __future__ import annotations

from contextlib import suppress

from gpualert_common.codec import decode
from gpualert_common.errors import RecordError
from gpualert_common.jobs.isolated_reading import JobReading
from gpualert_common.jobs.job_report import JobReport
from gpualert_common.record import Record
from gpualert_common.structs import Struct

JOB = "job.json"


class StoredJob(Struct, frozen=True, kw_only=True):
    """The part of ``job.json`` that pages show."""

    report: JobReport | None = None
    at: float = 0.0


def read_stored_job(record: Record) -> JobReading | None:
    """Return the job as the record has it; None without one, and for a damaged file."""
    with suppress(RecordError, OSError):
        data = record.read_json(JOB)
        if data is None:
            return None
        stored = decode(StoredJob, data, record.log_path(JOB))
        if stored.report is not None:
            return JobReading(report=stored.report, read_at=stored.at)
    return None
