"""Lookup of a run by an id or its start, a name, a path, or ``last``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from gpualert_common.errors import RecordError, UsageError
from gpualert_common.listing.run_names import list_names
from gpualert_common.record import Record
from gpualert_common.record_locations import RUNS, list_record_paths
from gpualert_common.suggestions import suggest

_LAST = "last"
_MOST_CANDIDATES = 5
_MOST_COMPARED = 2000
"""Names that are compared with an unknown one: a person waits."""


def find_record(run: str, places: Sequence[str]) -> Record:
    """Return the record that ``run`` names, the newest if several runs have that name.

    Raises UsageError if none matches, or an id begins with it and is not the only one, and
    RecordError if the record cannot be trusted.
    """
    return next(match_records(run, places))


def match_records(run: str, places: Sequence[str]) -> Iterator[Record]:
    """Yield the record that ``run`` names, or all records of runs with that name, newest first.

    Raises as :func:`find_record` does.
    """
    if os.sep in run:
        yield Record.open(run)
        return
    paths = list_record_paths(places)[::-1]
    if run == _LAST:
        yield next(_open_trusted(paths), None) or _refuse_unknown(run, paths, places)
        return
    exact = [path for path in paths if os.path.basename(path) == run]
    found = exact or [path for path in paths if os.path.basename(path).startswith(run)]
    if len(found) == 1:
        yield Record.open(found[0])
        return
    named = _open_named(run, paths)
    newest = next(named, None)
    if newest is None:
        if not found:
            _refuse_unknown(run, paths, places)
        ids = list_some([os.path.basename(path) for path in found])
        raise UsageError(f"{run!r} names {len(found)} runs: {ids}; give more of the id")
    yield newest
    yield from named


def list_run_names(paths: Sequence[str]) -> list[str]:
    """Return the names of the runs of these records, in their order, each once."""
    named = (name for record in _open_trusted(paths) for name in _read_names(record))
    return list(dict.fromkeys(named))


def list_some(ids: Sequence[str]) -> str:
    """Return the first ids of a list, and how many more there are."""
    more = len(ids) - _MOST_CANDIDATES
    return ", ".join(ids[:_MOST_CANDIDATES]) + (f" and {more} more" if more > 0 else "")


def _open_trusted(paths: Sequence[str]) -> Iterator[Record]:
    for path in paths:
        try:
            yield Record.open(path)
        except RecordError:
            continue


def _open_named(name: str, paths: Sequence[str]) -> Iterator[Record]:
    """Yield the records whose run has this name, in the order of the paths."""
    for record in _open_trusted(paths) if name else ():
        if name in _read_names(record):
            yield record
        else:
            record.close()


def _read_names(record: Record) -> list[str]:
    """Return the names of a run; none for one that has no name, or a damaged record."""
    try:
        return list_names(record.spec)
    except RecordError:
        return []


def _refuse_unknown(run: str, paths: Sequence[str], places: Sequence[str]) -> Record:
    """Raise for a run that does not exist, with the names that are close to it."""
    where = ", ".join(os.path.join(place, RUNS) for place in places) or "any state directory"
    if run == _LAST:
        raise UsageError(f"no run yet in {where}; `gpualert runs` lists them")
    known = _list_known(run, paths[:_MOST_COMPARED])
    longer = next((name for name in known if run.lower() in name.lower()), None)
    hint = f"; did you mean {longer}?" if longer else suggest(run, known)
    raise UsageError(f"no run {run!r} in {where}{hint}; `gpualert runs` lists them")


def _list_known(run: str, paths: Sequence[str]) -> list[str]:
    """Return the names that are compared with an unknown one: ids for one that begins as they do.

    A start of an id is compared with starts.
    """
    if run[:1].isdecimal():
        return [os.path.basename(path)[: len(run)] for path in paths]
    return list_run_names(paths)
