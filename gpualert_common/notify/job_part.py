"""Part of a run in the alert about its job: ``job.json`` and ``job_report.json`` of the record."""

from __future__ import annotations

from contextlib import suppress

from gpualert_common.codec import decode, encode
from gpualert_common.errors import RecordError
from gpualert_common.jobs.alerts.alert_action import JobAlertAction
from gpualert_common.quantities import Number, Time
from gpualert_common.record import Record
from gpualert_common.spec import SCHEMA
from gpualert_common.structs import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.jobs.job_report import JobReport

JOB = "job.json"
_UNDECIDED = "the nodes of its job agree which of them sends it"


class JobPart(Struct, frozen=True, kw_only=True):
    """Part of a run in the alert about its job.

    ``attempt``, ``number`` and ``claimed_at`` are those of the alert.  ``has_report`` is False for
    a run that sends its own alert, since the job directory cannot be reached.
    """

    action: JobAlertAction = JobAlertAction.WAIT
    because: str = _UNDECIDED
    attempt: Number = 1
    number: Number = 1
    claimed_at: Time = 0.0
    has_report: bool = False
    schema: int = SCHEMA

    @property
    def is_sender(self) -> bool:
        """True for a run that sends the alert about the job, or an addition to it."""
        return self.action in (JobAlertAction.SEND, JobAlertAction.ADD)


def read_part(record: Record) -> JobPart | None:
    """Return the part of a run; None if it has no job directory.

    A damaged file counts as missing.  Raises RecordError when the launch record cannot be read.
    """
    job = record.spec.job
    if job is None or not job.get("directory") or not job.get("key"):
        return None
    try:
        fields = record.read_json(JOB)
        return JobPart() if fields is None else decode(JobPart, fields, JOB)
    except RecordError:
        return JobPart()


def store_part(record: Record, part: JobPart) -> None:
    """Write the part of a run into its record; a disk that rejects it is no reason to stop."""
    with suppress(OSError):
        record.store(JOB, encode(part))


def read_report(record: Record) -> JobReport | None:
    """Return the report of the job that the alert of this run shows; None for an own alert."""
    from gpualert_common.jobs.job_report import JOB_REPORT, JobReport

    part = read_part(record)
    if part is None or not part.is_sender or not part.has_report:
        return None
    try:
        fields = record.read_json(JOB_REPORT)
        return None if fields is None else decode(JobReport, fields, JOB_REPORT)
    except RecordError:
        return None


def store_report(record: Record, report: JobReport) -> None:
    """Write the report that the alert of this run shows."""
    from gpualert_common.jobs.job_report import JOB_REPORT

    with suppress(OSError):
        record.store(JOB_REPORT, encode(report))
