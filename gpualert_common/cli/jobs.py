"""Jobs: how the commands find them, in a job directory and in the records of this machine."""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Iterator

from gpualert_common.cli import printing
from gpualert_common.cli.records import open_records
from gpualert_common.errors import RecordError, StoreError, UsageError
from gpualert_common.job_store.opening import open_store
from gpualert_common.jobs.reading.loading import (
    LoadedJob,
    find_keys,
    is_short_for,
    list_jobs,
    load_job,
    load_recorded_job,
)
from gpualert_common.jobs.reading.reader_clock import ReaderClock
from gpualert_common.launch_record import JobMembership
from gpualert_common.settings import load_settings
from gpualert_common.slurm.submissions.followed_state import read_followed_state
from gpualert_common.structs import Struct
from gpualert_common.suggestions import suggest

_MOST_READ = 200
"""Newest jobs of a directory that are read for a name: one digest of each."""


class FoundJob(Struct, frozen=True):
    """A job that a person named, with its key."""

    key: str
    job: LoadedJob


class _RecordedJob(Struct, frozen=True):
    """The runs of one job that this machine has records of."""

    membership: JobMembership
    paths: tuple[str, ...]


def find_job(options: argparse.Namespace) -> FoundJob:
    """Return the job that JOB names.

    The job directory is that of the call, else that of the job's records here, else the configured
    one; without any, or if it cannot be read, the records of this machine show the job.  Raises
    UsageError, StoreError.
    """
    recorded = _list_recorded(options)
    own = next((one for one in recorded if _is_named(one, options.job)), None)
    place = load_settings({"job_dir": options.job_dir})["job_dir"].value
    if options.job_dir is None and own is not None:
        place = own.membership.get("directory") or place
    if place:
        try:
            found = _find_in_directory(place, options, own)
        except StoreError as error:
            if own is None or options.job_dir is not None:
                raise
            printing.print_notes(f"gpualert: {error}; this machine's records show the job")
            found = None
        if found is not None:
            return found
    if own is None:
        keys = [one.membership.get("key", "") for one in recorded]
        where = f" in {place}" if place else "; name its directory by --job-dir"
        hint = _describe_followed(options) or suggest(options.job, keys)
        raise UsageError(f"no job {options.job!r}{where}{hint}")
    key = own.membership.get("key", "")
    return FoundJob(key, load_recorded_job(key, own.paths, options.attempt))


def list_known_jobs(options: argparse.Namespace) -> Iterator[tuple[str, LoadedJob]]:
    """Yield key and job of each in the job directory, then of the others that have records here."""
    place = load_settings({"job_dir": options.job_dir})["job_dir"].value
    clocks: dict[str, ReaderClock] = defaultdict(_make_clock)
    jobs = list_jobs(open_store(place), options.limit, clock=clocks[place]) if place else []
    yield from jobs
    keys = {key for key, _ in jobs}
    recorded = [] if options.job_dir else _list_recorded(options)
    others = [one for one in recorded if one.membership.get("key") not in keys]
    for one in others[: max(0, options.limit - len(jobs))]:
        key = one.membership.get("key", "")
        directory = one.membership.get("directory")
        try:
            job = LoadedJob(None)
            if directory:
                job = load_job(open_store(directory), key, clock=clocks[directory])
        except StoreError as error:
            printing.print_notes(f"gpualert: {error}; this machine's records show job {key}")
            job = LoadedJob(None)
        yield key, job if job.report is not None else load_recorded_job(key, one.paths)


def list_job_names(options: argparse.Namespace) -> list[str]:
    """Return keys and names of the jobs that this machine has records of, newest first."""
    memberships = [one.membership for one in _list_recorded(options)]
    names = [name for one in memberships for name in (one.get("name"), one.get("key")) if name]
    return list(dict.fromkeys(names))


def _find_in_directory(
    place: str, options: argparse.Namespace, own: _RecordedJob | None
) -> FoundJob | None:
    store = open_store(place)
    known = None if own is None else own.membership.get("key")
    keys = [known] if known else find_keys(options.job, store, _MOST_READ)
    if len(keys) > 1:
        raise UsageError(f"{options.job!r} names {len(keys)} jobs: {', '.join(keys[:5])}")
    for key in keys:
        job = load_job(store, key, options.attempt, clock=_make_clock())
        if job.report is not None or own is None:
            if job.problem:
                printing.print_notes(f"gpualert: {job.problem}; those nodes are missing")
            return FoundJob(key, job)
    return None


def _make_clock() -> ReaderClock:
    return ReaderClock(note=lambda text: printing.print_notes(f"gpualert: {text}"))


def _list_recorded(options: argparse.Namespace) -> list[_RecordedJob]:
    """Return the jobs of the records of this machine, the newest first."""
    found: dict[str, list[str]] = defaultdict(list)
    memberships: dict[str, JobMembership] = {}
    for record in open_records(options):
        try:
            job = record.spec.job
        except RecordError:
            continue
        if job is not None and job.get("key"):
            key = job.get("key", "")
            memberships[key] = job
            found[key].append(record.path)
    newest = sorted(found, key=lambda key: os.path.basename(found[key][-1]), reverse=True)
    return [_RecordedJob(memberships[key], tuple(found[key])) for key in newest]


def _describe_followed(options: argparse.Namespace) -> str:
    """Return the state of a job of Slurm that a run follows from outside; "" if none does."""
    for record in open_records(options):
        try:
            state = read_followed_state(record.spec.command)
        except RecordError:
            continue
        if state is not None and state.job == options.job:
            waits = ", and waits for ever" if state.waits_for_ever else ""
            reason = f" ({state.reason})" if state.reason else ""
            return (
                f"; no run inside of it has a record here. Slurm had it as {state.state}{reason}"
                f"{waits}: gpualert show {record.run_id}"
            )
    return ""


def _is_named(one: _RecordedJob, job: str) -> bool:
    key = one.membership.get("key", "")
    is_name = job in (key, one.membership.get("name")) or is_short_for(job, key)
    return is_name or any(os.path.basename(path) == job for path in one.paths)
