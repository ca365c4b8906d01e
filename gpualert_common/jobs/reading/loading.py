"""Reports of jobs for readers: from a job directory, or from the records of this machine."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing, suppress

from gpualert_common.errors import GPUAlertError, StoreError
from gpualert_common.job_store.store import JobStore, StoredFile
from gpualert_common.jobs.digests.digest import StoredDigest
from gpualert_common.jobs.digests.digest_collection import make_digest
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.job_report import JobReport
from gpualert_common.jobs.merging.merger import JobMerger
from gpualert_common.jobs.reading.job_reading import JobReader
from gpualert_common.jobs.reading.reader_clock import ReaderClock
from gpualert_common.record import Record
from gpualert_common.structs import Struct

THREADS = 16
"""Digests that are read at the same time: one takes some 30 ms from a bucket."""
_READING_S = 30.0
"""Limit for one job: a store that works gives the digests of 750 nodes in seconds."""


class LoadedJob(Struct, frozen=True):
    """The report of a job, None without a digest of it.

    ``damaged`` is the number of its digests that cannot be read: they count as missing.
    ``problem`` says why others were not read.
    """

    report: JobReport | None
    damaged: int = 0
    problem: str = ""


def load_job(
    store: JobStore, key: str, attempt: int | None = None, *, clock: ReaderClock | None = None
) -> LoadedJob:
    """Return the job with this key in a job directory as it is now.

    A few digests that the store does not give count as damaged.  *clock* is that of other jobs in
    the same store.  Raises StoreError where the store gives none.
    """
    until = time.monotonic() + _READING_S
    reader = JobReader(JobDirectory(store, key), THREADS)
    failure = reader.read_all(until)
    report = (clock or ReaderClock()).conclude(reader, until, attempt)
    if report is None and failure is not None:
        raise failure
    return LoadedJob(report, reader.damaged, "" if failure is None else str(failure))


def list_jobs(
    store: JobStore, most: int, *, clock: ReaderClock | None = None
) -> list[tuple[str, LoadedJob]]:
    """Return key and job of the newest ones in a job directory, the newest first.

    Raises StoreError.
    """
    folders = _list_readable(store, store.list_folders(""))
    clock = clock or ReaderClock()
    return [(key, load_job(store, key, clock=clock)) for key, _ in folders[:most]]


def load_recorded_job(key: str, paths: Iterable[str], attempt: int | None = None) -> LoadedJob:
    """Return the job with this key as the records at these paths show it, without a directory."""
    merger = JobMerger(key)
    damaged = 0
    for path in paths:
        try:
            with closing(Record.open(path)) as record:
                digest = make_digest(record)
        except (GPUAlertError, OSError):
            damaged += 1
            continue
        merger.add(StoredDigest(digest, digest.at))
    return LoadedJob(merger.conclude(time.time(), attempt), damaged)


def find_keys(job: str, store: JobStore, most: int) -> list[str]:
    """Return the keys of the jobs in a directory that a name, a run id or a Slurm job id names.

    Several jobs may have a name: the newest counts.  Names are in the digests, so one of each of
    the *most* newest jobs is read, if no key fits.  Raises StoreError.
    """
    keys = store.list_folders("")
    found = [key for key in keys if key == job or is_short_for(job, key)]
    if found:
        return [job] if job in found else sorted(found)
    folders = _list_readable(store, keys)
    for key, files in folders:
        if any(file.name == f"{job}.json" for file in files):
            return [key]
    for key, files in folders[:most]:
        with suppress(StoreError):
            stored = JobDirectory(store, key).read_digest(files[0])
            if stored is not None and stored.digest.name == job:
                return [key]
    return []


def is_short_for(job: str, key: str) -> bool:
    """Return whether a name is a key without its origin, or without a cluster and a step, too."""
    _, _, name = key.partition("-")
    if name == job:
        return True
    if not key.startswith("slurm-") or not job[:1].isdecimal():
        return False
    number = name.rpartition("-")[2]
    return job in (number, number.partition(".")[0])


def _list_readable(store: JobStore, keys: Iterable[str]) -> list[tuple[str, list[StoredFile]]]:
    """Return key and digests of each job that has some, the newest first.

    The folders of other users may not be readable: they are left out.  Raises StoreError where that
    leaves none.
    """
    found: list[tuple[str, list[StoredFile]]] = []
    failures: list[StoreError] = []
    for key in keys:
        try:
            files = JobDirectory(store, key).list_digests()
        except StoreError as error:
            failures.append(error)
            continue
        found += [(key, files)] if files else []
    if failures and not found:
        raise failures[0]
    return sorted(found, key=lambda one: max(file.modified_at for file in one[1]), reverse=True)
