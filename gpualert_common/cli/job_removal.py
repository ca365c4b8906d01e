"""Removal of old jobs from the job directory, shown before anything is removed."""

from __future__ import annotations

import argparse
import sys
import time
from fnmatch import fnmatchcase

from gpualert_common.cli import printing
from gpualert_common.cli.run_table import format_start
from gpualert_common.errors import StoreError, UsageError
from gpualert_common.job_store import PrunableStore, open_store
from gpualert_common.job_store.old_jobs import StoredJob, list_old_jobs
from gpualert_common.report.formatting import size
from gpualert_common.report.tables import Column, format_table
from gpualert_common.settings import load_settings
from gpualert_common.spec import SCHEMA

_PIPED = 160


def remove_old_jobs(options: argparse.Namespace) -> int:
    """Remove the jobs without a change since ``options.older_than``; 1 if one could not be removed.

    Raises UsageError without a job directory and for options about runs, and StoreError where the
    directory cannot be listed.
    """
    if options.keep_failed or options.force:
        raise UsageError("--keep-failed and --force choose runs, and cannot be used with --jobs")
    address = load_settings({"job_dir": options.job_dir})["job_dir"].value
    if address is None:
        raise UsageError("no job directory is configured; name it by --job-dir")
    store = open_store(address)
    found = [
        job
        for job in list_old_jobs(store, options.older_than)
        if options.name is None or fnmatchcase(job.key, options.name)
    ]
    removable = [job for job in found if not job.problem]
    kept = {job.key: job.problem for job in found if job.problem}
    if not options.json:
        _show(removable, address)
    agreed = options.yes or (not options.json and bool(removable) and _ask(len(removable)))
    gone = _remove(store, removable, kept) if agreed else []
    if options.json:
        _print_json(removable, kept, gone)
    else:
        printing.print_notes(*(f"gpualert: {key} is kept: {why}" for key, why in kept.items()))
        if agreed:
            printing.print_lines(f"removed {_count(len(gone))}")
    return int(agreed and len(gone) < len(removable))


def _remove(store: PrunableStore, jobs: list[StoredJob], kept: dict[str, str]) -> list[str]:
    """Return the keys of the jobs that are gone; *kept* gets the errors of the others."""
    gone = []
    for job in jobs:
        try:
            store.remove_folder(job.key)
            gone.append(job.key)
        except StoreError as error:
            kept[job.key] = str(error)
    return gone


def _show(jobs: list[StoredJob], address: str) -> None:
    if not jobs:
        printing.print_notes(f"no job to remove from {address}")
        return
    now = time.time()
    columns = [
        Column("JOB", [job.key for job in jobs]),
        Column("CHANGED", [format_start(job.modified_at, now) for job in jobs]),
        Column("SIZE", [size(job.size) for job in jobs], is_right=True),
    ]
    printing.print_lines(*format_table(columns, printing.terminal_columns(_PIPED)))
    printing.print_lines(
        f"to remove from {address}: {_count(len(jobs))}, {size(sum(job.size for job in jobs))}"
    )


def _ask(count: int) -> bool:
    """Return whether a person at the terminal agrees; without a terminal nobody does."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        printing.print_notes("nothing is removed; to remove: --yes")
        return False
    sys.stderr.write(f"Remove {_count(count)}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _print_json(removable: list[StoredJob], kept: dict[str, str], gone: list[str]) -> None:
    printing.print_json(
        {
            "schema": SCHEMA,
            "removable": [{"job": job.key, "bytes": job.size} for job in removable],
            "kept": [{"job": key, "because": why} for key, why in kept.items()],
            "removed": gone,
        }
    )


def _count(number: int) -> str:
    return f"{number} job{'s' if number != 1 else ''}"
