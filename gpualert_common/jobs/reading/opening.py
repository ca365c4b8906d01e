"""Opening of the job directory that a record names."""

from __future__ import annotations

from gpualert_common.job_store.opening import open_store
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.record import Record


def has_job_directory(record: Record) -> bool:
    """Return whether the nodes of a run's job share a directory.  Raises RecordError."""
    job = record.spec.job
    return job is not None and bool(job.get("directory")) and bool(job.get("key"))


def open_job_directory(record: Record) -> JobDirectory:
    """Return the job directory of a run that has one.

    Raises StoreError, and ConfigError where the store needs another package or address.
    """
    job = record.spec.job or {}
    return JobDirectory(open_store(job.get("directory", "")), job.get("key", ""))
