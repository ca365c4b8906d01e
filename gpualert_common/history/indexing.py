"""From records to the history: one that has just ended, or all of them where the file was lost."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from time import monotonic as _now

from gpualert_common.errors import RecordError
from gpualert_common.history.past_run import PastRun, make_past_run
from gpualert_common.history.pending import queue_run
from gpualert_common.history.runs import MOST, History
from gpualert_common.record import EXIT, Record
from gpualert_common.record_locations import RUNS

_BATCH_RUNS = 500
"""Rows of one transaction: it takes some 20 ms, for which others wait."""
_REBUILD_DEADLINE_S = 2.0


@dataclass(frozen=True, slots=True)
class IndexResult:
    """How many runs were added, how many records were not looked at, and what went wrong."""

    added: int
    left: int = 0
    problem: str = ""


def index_run(record: Record) -> str:
    """Put a run that has ended into the history beside its record; returns what went wrong.

    Nothing is done for one that has not ended.  Never raises.
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
    """Take in the runs that wait in state directory ``place``; returns what went wrong.

    Where there was no file yet the records there fill it, as far as two seconds reach.  Some 10 ms
    otherwise, for the disk.  Never raises.
    """
    history = History.open(place)
    problem = history.import_pending()
    if history.is_new:
        filled = rebuild(place, deadline_s=_REBUILD_DEADLINE_S)
        problem = problem or filled.problem
    return problem


def rebuild(place: str, *, deadline_s: float | None = None) -> IndexResult:
    """Fill the history in state directory ``place`` from the records there, newest first.

    What it knows stays as it is.  Records that are damaged or somebody else's are passed over, and
    those of runs that go on.  Never raises.
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
    """Raises RecordError."""
    ending = record.read_json(EXIT)
    if ending is None:
        return None
    return make_past_run({**record.spec, "run_id": record.run_id}, ending, record.verdict)
