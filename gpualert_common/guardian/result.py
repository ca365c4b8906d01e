"""The result of a run: which attempt claimed it, and the outcome of its task."""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable

from gpualert_common.errors import RecordError, SupersededError
from gpualert_common.guardian.attempt import Attempt
from gpualert_common.record import OUTCOME, Record
from gpualert_common.spec import SCHEMA

_WRITE_S = 5.0


def claim(record: Record, attempt: Attempt) -> None:
    """Claim the result for this attempt; on a disk that takes no claim it stays unclaimed.

    Raises SupersededError when another attempt has it.
    """
    if not _in_time(lambda: _take(record, attempt)):
        return
    if record.claimed_by not in (attempt.owner, None):
        raise SupersededError(f"another attempt took the result of run {record.run_id}")


def write_outcome(
    record: Record, attempt: Attempt, state: str, *, final: bool, next_within_s: float | None
) -> bool:
    """Record the outcome of the task; False when the disk did not take it in time."""
    fields = {
        "schema": SCHEMA,
        "state": state,
        "final": final,
        "next_within_s": next_within_s,
        "owner": attempt.owner,
        "number": attempt.number,
        "told_as": attempt.shown_number,
        "task": attempt.task,
        "at": time.time(),
    }
    return _in_time(lambda: record.write_json(OUTCOME, fields))


def _take(record: Record, attempt: Attempt) -> None:
    record.claim(attempt.owner, attempt.number)


def _in_time(write: Callable[[], None]) -> bool:
    """Call ``write`` with a deadline; False when the disk did not take it in time."""
    done = _thread.allocate_lock()
    done.acquire()
    failed = []

    def work() -> None:
        try:
            write()
        except (OSError, RecordError) as error:
            failed.append(error)
        done.release()

    _thread.start_new_thread(work, ())
    return done.acquire(timeout=_WRITE_S) and not failed
