"""Runs whose supervisor died: found by their marks, and finished by a process in the background.

A run is marked before its launch, and the mark is removed when its record is complete.  So a look
at the marks finds the others, for some microseconds each.
"""

from __future__ import annotations

import os

from gpualert_common.errors import GPUAlertError
from gpualert_common.processes.host import host_name
from gpualert_common.record import SPEC, Record
from gpualert_common.record.marks import UNDELIVERED, UNFINISHED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PROGRAM = "gpualert_common.background_recovery"


def list_unsupervised(places: Iterable[str]) -> list[str]:
    """Return the paths of the unfinished records in these places that nobody supervises.

    Oldest first in each place.  Of those of other hosts only the ones in a job of Slurm, which can
    show whether they go on.
    """
    paths = (path for place in places for path in UNFINISHED.list_records(place))
    return [path for path in paths if _is_unsupervised(path)]


def start_recovery(places: Sequence[str]) -> bool:
    """Start the process that finishes what it can in these places; False where none can be had."""
    from gpualert_common.notify.sender_launch import start_detached

    try:
        start_detached(_PROGRAM, {"places": list(places)})
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, OSError) and error.errno is None:
            raise  # an engine's time-out may be a TimeoutError
        return False
    return True


def finish_abandoned_runs(places: Sequence[str]) -> None:
    """Have the records of these places finished, if nobody supervises one; returns at once."""
    if list_unsupervised(places):
        start_recovery(places)


def mark_finished(path: str, *, is_undelivered: bool) -> None:
    """Mark a record as complete, and as undelivered where its alerts are not sent yet."""
    try:
        if is_undelivered:
            UNDELIVERED.add(path)
        UNFINISHED.remove(path)
    except OSError:
        pass  # a full or failing disk: a later process looks at the record again


def _is_unsupervised(path: str) -> bool:
    try:
        record = Record.open(path)
    except GPUAlertError:
        if not os.path.lexists(path):
            mark_finished(path, is_undelivered=False)  # it was removed
        return False
    try:
        if record.is_held:
            return False
        spec = record.read_json(SPEC) or {}
        return spec.get("host") == host_name() or bool(spec.get("slurm"))
    except (GPUAlertError, OSError):
        return False  # a damaged record, or a filesystem without locks
    finally:
        record.close()
