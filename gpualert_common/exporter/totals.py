"""Totals of all runs that have ended, in a file of the state directory: they never fall.

A run counts once, when its verdict is complete.  The file outlives the records and the exporter;
without one the totals begin with the records that are present.  Two exporters of one state
directory share it, and count no run twice.  It keeps the id of each run that was counted: a record
that is not listed may be on a disk that does not answer, and come back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from gpualert_common.causes import CAUSES
from gpualert_common.history.database import Database, HistoryUnavailableError, transaction
from gpualert_common.listing.condition import LIVE, Condition
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.model import Attribution
from gpualert_common.spec import EARLY

if TYPE_CHECKING:
    from sqlite3 import Connection

NAME = "metrics.sqlite3"
OTHER = "other"
"""Label of a cause or kind that this release does not know, or for which there is no room."""
MOST_KINDS = 100
"""Kinds of warnings, each a time series."""

_APPLICATION = int.from_bytes(b"gpum", "big")
_SCHEMA = 1
_TABLES = (
    "CREATE TABLE totals (total TEXT, labels TEXT, value REAL, PRIMARY KEY (total, labels))",
    "CREATE TABLE counted (run_id TEXT PRIMARY KEY) WITHOUT ROWID",
)
_ADD = """INSERT INTO totals VALUES (?, ?, ?)
    ON CONFLICT (total, labels) DO UPDATE SET value = value + excluded.value"""
_COUNT = "INSERT OR IGNORE INTO counted (run_id) VALUES (?)"
_MOST_GPU_SECONDS = 1e11
"""Of one run: 100,000 GPUs for eleven days.  A larger number is damaged."""
_MOST_KIND_CHARS = 60


class Total(StrEnum):
    """Number that is added up over all ended runs."""

    RUNS = "runs"
    GPU_SECONDS = "gpu_seconds"
    WASTED_GPU_SECONDS = "wasted_gpu_seconds"
    WARNINGS = "warnings"


TotalKey = tuple[Total, tuple[str, ...]]
"""A number and its labels: condition, cause and attribution, or the kind of a warning."""
Totals = Mapping[TotalKey, float]


class TotalsFile:
    """The totals in one state directory.  Not thread-safe.

    ``problem`` is the reason why the last change could not be stored; the totals are then those in
    memory, and are stored later.
    """

    def __init__(self, place: str) -> None:
        self.problem = ""
        self._file = Database(place, NAME, application=_APPLICATION, schema=_SCHEMA, tables=_TABLES)
        self._stored: dict[TotalKey, float] = {}
        self._counted: set[str] = set()
        self._unstored: dict[str, RunSummary] = {}
        self._is_read = False

    def update(self, runs: Iterable[RunSummary]) -> Totals | None:
        """Return the totals, with those of ``runs`` that have ended and were not counted yet.

        None until the file has been read once: totals without it would be lower than before.
        """
        for run in runs:
            if run.run_id not in self._counted and _is_complete(run):
                self._unstored.setdefault(run.run_id, run)
        if self._unstored or not self._is_read or not self._file.exists:
            try:
                self._file.use(self._store)
                self.problem = self._file.repair
            except HistoryUnavailableError as error:
                self.problem = str(error)
        return self._add_unstored() if self._is_read else None

    def _store(self, connection: Connection) -> None:
        """Add the new runs to the file, unless another exporter did, and read its totals."""
        if not self._is_read:  # first, since it may be possible to read and not to write
            self._counted = {row[0] for row in connection.execute("SELECT run_id FROM counted")}
            self._stored = dict(_read_rows(connection))
            self._is_read = True
        with transaction(connection):
            if not _has_totals(connection):  # it was removed, or damaged
                connection.executemany(_COUNT, [(run_id,) for run_id in self._counted])
                _add(connection, self._stored.items())
            kinds = _list_kinds(dict(_read_rows(connection)))
            for run_id, run in self._unstored.items():
                if connection.execute(_COUNT, (run_id,)).rowcount:
                    _add(connection, _list_parts(run, kinds))
        self._stored = dict(_read_rows(connection))
        self._counted.update(self._unstored)
        self._unstored.clear()

    def _add_unstored(self) -> Totals:
        totals = dict(self._stored)
        kinds = _list_kinds(totals)
        for run_id, run in self._unstored.items():
            if run_id not in self._counted:
                for key, value in _list_parts(run, kinds):
                    totals[key] = totals.get(key, 0.0) + value
        return totals


def _is_complete(run: RunSummary) -> bool:
    is_over = run.condition not in LIVE and run.condition is not Condition.LOST
    return is_over and run.disposition is not None and not run.verdict_pending


def _list_parts(run: RunSummary, kinds: set[str]) -> Iterator[tuple[TotalKey, float]]:
    """Yield what a run adds to the totals: no negative numbers, since totals never fall.

    ``kinds`` are the kinds of warnings that have a label, and gets those of this run.
    """
    labels = (str(run.condition), name_cause(run.cause), name_attribution(run.attribution))
    yield (Total.RUNS, labels), 1.0
    for total, value in (
        (Total.GPU_SECONDS, run.gpu_seconds),
        (Total.WASTED_GPU_SECONDS, run.wasted_gpu_seconds),
    ):
        if value is not None and 0.0 <= value <= _MOST_GPU_SECONDS:
            yield (total, labels), float(value)
    for label in {_choose_label(name_kind(kind), kinds) for kind in run.warnings}:
        yield (Total.WARNINGS, (label,)), 1.0


def name_cause(cause: str | None) -> str:
    """Return the label of a cause."""
    return cause if cause in CAUSES else OTHER


def name_attribution(attribution: str | None) -> str:
    """Return the label of an attribution."""
    return str(attribution if attribution in tuple(Attribution) else Attribution.UNKNOWN)


def name_kind(kind: str) -> str:
    """Return the label of a kind of warnings, the same in a verdict and while the run goes on."""
    kind = kind.removeprefix(EARLY)
    plain = kind.replace("_", "").replace(".", "")
    is_name = plain.isascii() and plain.isalnum() and len(kind) <= _MOST_KIND_CHARS
    return kind if is_name else OTHER


def _list_kinds(totals: Totals) -> set[str]:
    return {labels[0] for total, labels in totals if total is Total.WARNINGS}


def _choose_label(kind: str, kinds: set[str]) -> str:
    """Return the label of a kind, and add it to those that have one if there is room."""
    label = kind if kind in kinds or len(kinds) < MOST_KINDS else OTHER
    kinds.add(label)
    return label


def _has_totals(connection: Connection) -> bool:
    return connection.execute("SELECT 1 FROM totals LIMIT 1").fetchone() is not None


def _add(connection: Connection, parts: Iterable[tuple[TotalKey, float]]) -> None:
    rows = [(str(total), json.dumps(labels), value) for (total, labels), value in parts]
    connection.executemany(_ADD, rows)


def _read_rows(connection: Connection) -> Iterator[tuple[TotalKey, float]]:
    for total, text, value in connection.execute("SELECT total, labels, value FROM totals"):
        try:
            labels = tuple(str(one) for one in json.loads(text))
            if len(labels) == (1 if total == Total.WARNINGS else 3) and math.isfinite(value):
                yield (Total(total), labels), max(0.0, float(value))
        except (ValueError, TypeError):
            continue  # not written by gpualert
