"""Import of records into the history: of one run that has ended, or of all runs."""

from __future__ import annotations

import math
import os
from time import monotonic as _now

from gpualert_common.errors import RecordError
from gpualert_common.history.past_run import PastRun, make_past_run
from gpualert_common.history.pending import queue_run
from gpualert_common.history.runs import MOST, History
from gpualert_common.record import EXIT, Record
from gpualert_common.record_locations import RUNS
from gpualert_common.structs import Struct, replace

_BATCH_RUNS = 500
"""Rows in one transaction: it takes some 20 ms, in which other processes wait."""
_REBUILD_DEADLINE_S = 2.0


class IndexResult(Struct, frozen=True):
    """Number of runs added, number of records not read, and the problem, if any."""

    added: int
    left: int = 0
    problem: str = ""


def index_run(record: Record) -> str:
    """Add a run that has ended to the history of its state directory; return the problem, if any.

    Does nothing for a run in progress.  Never raises.
    """
    place = os.path.dirname(os.path.dirname(record.path))
    try:
        run = _make_run(record)
        if run is not None:
            queue_run(place, run)
    except (RecordError, OSError) as error:
        return str(error)
    return "" if run is None else import_pending(place)


def import_pending(place: str) -> str:
    """Import the pending runs of state directory ``place``; return the problem, if any.

    If the file is new, also import the records there, for at most two seconds.  Otherwise takes
    some 10 ms, for the disk.  Never raises.
    """
    history = History.open(place)
    problem = history.import_pending()
    if history.is_new:
        filled = rebuild(place, deadline_s=_REBUILD_DEADLINE_S)
        problem = problem or filled.problem
    return problem


def rebuild(place: str, *, deadline_s: float | None = None) -> IndexResult:
    """Fill the history in state directory ``place`` from the records there, newest first.

    Existing rows do not change.  Records that are damaged, of another user, or of runs in progress
    are skipped.  Never raises.
    """
    until = math.inf if deadline_s is None else _now() + deadline_s
    history = History.open(place)
    known = history.read_all()
    problem = history.problem
    if problem and not history.is_new:
        return IndexResult(0, problem=problem)
    try:
        names = sorted(set(os.listdir(os.path.join(place, RUNS))) - set(known), reverse=True)[:MOST]
    except FileNotFoundError:
        names = []
    except OSError as error:
        return IndexResult(0, problem=f"{place}: {error.strerror}")
    added = 0
    while names and _now() < until:
        now, names = names[:_BATCH_RUNS], names[_BATCH_RUNS:]
        runs = [run for name in now if (run := _read_run(os.path.join(place, RUNS, name)))]
        failed = history.add(*runs)
        if failed:
            return IndexResult(added, len(now) + len(names), failed)
        added += len(runs)
    return IndexResult(added, len(names), problem)


def _read_run(path: str) -> PastRun | None:
    try:
        record = Record.open(path)
    except RecordError:
        return None
    try:
        return _make_run(record)
    except RecordError:
        return None
    finally:
        record.close()


def _make_run(record: Record) -> PastRun | None:
    """Return the row of a record; None if the run has not ended.  Raises RecordError."""
    ending = record.read_json(EXIT)
    if ending is None:
        return None
    return make_past_run(replace(record.spec, run_id=record.run_id), ending, record.verdict)
