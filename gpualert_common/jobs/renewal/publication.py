"""Publication of the last digest of a run: after its verdict, by the process that sends its alerts,
by ``gpualert recover``, or by a later run on the machine."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress

from gpualert_common.errors import GPUAlertError, StoreError
from gpualert_common.jobs.digests.digest import Digest, DigestState
from gpualert_common.jobs.digests.digest_collection import DigestCollector, Renewal
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.reading.opening import has_job_directory, open_job_directory
from gpualert_common.jobs.renewal.renewal_program import LOCK
from gpualert_common.jobs.renewal.renewal_state import StoreNotes, read_state, store_state
from gpualert_common.record import EXIT, Record
from gpualert_common.record.marks import UNPUBLISHED
from gpualert_common.structs import replace

_HELPER_EXIT_S = 5.0
"""Time in which the process that renewed the digest exits after the end of its run."""
_CHECK_S = 0.05
_KEPT_S = 7 * 86400.0
"""Age from which on the end of a run is of no use to its job any more."""


def make_final_digest(record: Record, known_secrets: tuple[str, ...] = ()) -> Digest | None:
    """Return the last digest of a run, which continues the series; None while it has no end.

    A run without a verdict has ended, too, unless a process still makes it: the digest is then one
    of a run in progress, with the time of its end.  One with a damaged end has ended, at an unknown
    time.  Raises RecordError.
    """
    if not record.has(EXIT):
        return None
    state = read_state(record)
    renewal = Renewal(state.sequence + 1, 0.0, state.clock)
    digest = DigestCollector(record, known_secrets).collect(renewal)
    is_pending = record.is_verdict_pending
    return replace(digest, state=DigestState.RUNNING if is_pending else DigestState.ENDED)


def publish_final(
    record: Record,
    directory: JobDirectory | None = None,
    known_secrets: tuple[str, ...] = (),
) -> Digest | None:
    """Write the last digest of a run into its job directory, and return it: two requests.

    It may be repeated, as once the verdict is better known.  None for a run without a job
    directory, or without an end.  Raises StoreError where that failed: the run is marked, so that a
    later process publishes it.  Raises other errors of GPUAlert for a record or a setting that no
    later try can repair.
    """
    if not has_job_directory(record):
        return None
    digest = make_final_digest(record, known_secrets)
    if digest is None:
        return None
    mark_unpublished(record.path)
    notes = StoreNotes(record)
    try:
        directory = open_job_directory(record) if directory is None else directory
        _await_helper(record)
        directory.write_last_digest(digest)
    except StoreError as error:
        notes.note_failure(str(error))
        raise
    notes.note_success()
    is_final = digest.state is DigestState.ENDED
    store_state(record, digest, is_final=is_final)
    if is_final:
        _unmark(record.path)
    return digest


def mark_unpublished(record_path: str) -> None:
    """Mark a run whose last digest has to be published."""
    with suppress(OSError):  # a full disk: a process that finds the record publishes it
        UNPUBLISHED.add(record_path)


def publish_left(places: Iterable[str]) -> None:
    """Publish the digests that runs left in these state directories.

    Of a job directory that cannot be reached, only one is tried.  Raises nothing of ours.
    """
    lost: set[str] = set()
    for path in (path for place in places for path in UNPUBLISHED.list_records(place)):
        try:
            record = Record.open(path)
        except GPUAlertError:
            _unmark(path)  # it was removed
            continue
        try:
            directory = (record.spec.job or {}).get("directory", "")
            if directory not in lost and not _publish_again(record):
                lost.add(directory)
        except GPUAlertError:  # a record or a setting that no later try can repair
            _unmark(path)
        finally:
            record.close()


def _publish_again(record: Record) -> bool:
    """Publish the last digest of a run; False if its job directory cannot be reached."""
    ended_at = record.stored_at(EXIT)
    if ended_at is not None and time.time() - ended_at > _KEPT_S:
        _unmark(record.path)
        return True
    try:
        if publish_final(record) is None:
            _unmark(record.path)
    except StoreError:
        return False
    return True


def _unmark(record_path: str) -> None:
    with suppress(OSError):
        UNPUBLISHED.remove(record_path)


def _await_helper(record: Record) -> None:
    """Wait for the process that renewed the digest: its last write must not follow ours."""
    deadline = time.monotonic() + _HELPER_EXIT_S
    while record.is_locked(LOCK) and time.monotonic() < deadline:
        time.sleep(_CHECK_S)
