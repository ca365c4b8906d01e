"""The job of a run in its record: as it was when the run sent the alert about it."""

from __future__ import annotations

from gpualert_common.codec import decode
from gpualert_common.errors import RecordError
from gpualert_common.jobs.job_report import JOB_REPORT, JobReport
from gpualert_common.jobs.reading.isolated_reading import JobReading
from gpualert_common.record import Record


def read_stored_job(record: Record) -> JobReading | None:
    """Return the job as the record has it; None without one, and for a damaged file."""
    try:
        fields = record.read_json(JOB_REPORT)
        if fields is None:
            return None
        report = decode(JobReport, fields, record.log_path(JOB_REPORT))
    except (RecordError, OSError):
        return None
    status = record.log_status(JOB_REPORT)
    return JobReading(report=report, read_at=status.st_mtime if status is not None else 0.0)
