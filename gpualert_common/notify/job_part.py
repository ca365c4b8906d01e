"""Part of a run in the alert about its job, as ``job.json`` of the record has it."""

from __future__ import annotations

from contextlib import suppress

from gpualert_common.codec import decode, encode
from gpualert_common.errors import RecordError
from gpualert_common.jobs.alert_ownership import JobAlertAction
from gpualert_common.jobs.job_report import JobReport
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.quantities import Number
from gpualert_common.record import Record
from gpualert_common.spec import SCHEMA
from gpualert_common.structs import Struct

JOB = "job.json"
_UNDECIDED = "the nodes of its job have not agreed yet which one sends the alert"


class JobPart(Struct, frozen=True, kw_only=True):
    """Part of a run in the alert about its job.

    ``is_published`` says that the job directory has the final digest of the run.  ``attempt`` and
    ``number`` are those of the alert; ``report`` is the job as the alert shows it, None for a run
    that sends none, or its own.
    """

    action: JobAlertAction = JobAlertAction.WAIT
    because: str = _UNDECIDED
    is_published: bool = False
    attempt: Number = 1
    number: Number = 1
    report: JobReport | None = None
    schema: int = SCHEMA

    @property
    def is_sender(self) -> bool:
        """True for a run that sends the alert about the job, or an addition to it."""
        return self.action in (JobAlertAction.SEND, JobAlertAction.ADD)


def read_part(record: Record) -> JobPart | None:
    """Return the part of a run; None if it has no job directory.

    A damaged file counts as missing.  Raises RecordError when the launch record cannot be read.
    """
    if find_job_directory(record.spec) is None:
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


def find_job_directory(launched: LaunchRecord) -> tuple[str, str] | None:
    """Return the address of the job directory, and the key of the job; None for a run without."""
    job = launched.job
    if job is None or not job.get("directory") or not job.get("key"):
        return None
    return job["directory"], job["key"]
