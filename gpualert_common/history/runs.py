"""The runs that the history keeps, and how they are found again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from gpualert_common.history import pending
from gpualert_common.history.database import (
    BusyError,
    DamagedError,
    Database,
    HistoryUnavailableError,
    is_not_writable,
    transaction,
)
from gpualert_common.history.past_run import COLUMNS, PastRun

if TYPE_CHECKING:
    from sqlite3 import Connection

NAME = "history.sqlite3"
SCHEMA = 1
MOST_PER_FINGERPRINT = 50
"""Runs of one fingerprint: more than anybody asks for."""
MOST = 20_000
"""Runs in all: a year of fifty a day, in some 6 MB."""

_APPLICATION = int.from_bytes(b"gpua", "big")
_TABLES = (
    f"CREATE TABLE runs ({COLUMNS[0]} TEXT PRIMARY KEY, {', '.join(COLUMNS[1:])}) WITHOUT ROWID",
    "CREATE INDEX runs_by_fingerprint ON runs (fingerprint, run_id)",
)
_STORE = f"INSERT OR REPLACE INTO runs VALUES ({', '.join('?' * len(COLUMNS))})"
_TRIM_ONE = """DELETE FROM runs WHERE run_id IN
    (SELECT run_id FROM runs WHERE fingerprint = ? ORDER BY run_id DESC LIMIT -1 OFFSET ?)"""
_TRIM_ALL = """DELETE FROM runs WHERE run_id IN
    (SELECT run_id FROM runs ORDER BY run_id DESC LIMIT -1 OFFSET ?)"""
_ALL = f"SELECT {', '.join(COLUMNS)} FROM runs"
_OLDEST_FIRST = f"{_ALL} ORDER BY run_id"
_BEFORE = f"{_ALL} WHERE fingerprint = ? AND run_id < ? ORDER BY run_id DESC LIMIT ?"
_SUCCESSOR = "!"
"""Behind a run id: what sorts next."""
_LAST = "~"
"""Sorts behind every run id."""

Found = TypeVar("Found")


class History:
    """The history in one state directory.  No method raises, or waits for other processes for long.

    ``problem`` says what the last call could not do, or that it put a damaged file aside; it is
    empty where all went well.  A disk that does not answer is waited for.  Any thread may use its
    own.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self.problem = ""
        self._file = Database(place, NAME, application=_APPLICATION, schema=SCHEMA, tables=_TABLES)

    @classmethod
    def open(cls, place: str) -> History:
        """The history in ``place``, the directory that holds ``runs/``.  Nothing is touched yet."""
        return cls(place)

    @property
    def exists(self) -> bool:
        """False where no run was ever kept, or the file was lost."""
        return self._file.exists

    @property
    def is_new(self) -> bool:
        """True when the last call began the file: :func:`.rebuild` then knows what was before."""
        return self._file.is_new

    def add(self, *runs: PastRun) -> str:
        """Keep these runs, each in the place of what was known of it; returns ``problem``.

        While others have the file they wait beside it, for the next call that can take them in.
        """
        try:
            self._use(lambda connection: _store(connection, runs))
        except BusyError as error:
            self.problem = self._queue(runs, error)
        except HistoryUnavailableError as error:
            self.problem = f"{error}; not kept"
        return self.problem

    def import_pending(self) -> str:
        """Keep the runs that wait, as every call does that has the file; returns ``problem``."""
        self._read(lambda _connection: None, None)
        return self.problem

    def find_runs(self, fingerprint: str, before: str = "", most: int = 20) -> list[PastRun]:
        """The runs of a fingerprint, newest first; only those older than the run ``before``."""
        given = (fingerprint, before or _LAST, most)
        return self._read(lambda connection: list(_select(connection, _BEFORE, given)), [])

    def read_all(self) -> dict[str, PastRun]:
        """All runs by their ids, oldest first."""
        return self._read(
            lambda connection: {run.run_id: run for run in _select(connection, _OLDEST_FIRST)}, {}
        )

    def _read(self, work: Callable[[Connection], Found], otherwise: Found) -> Found:
        self.problem = ""
        try:
            if self.exists or pending.has_pending(self.place):
                return self._use(work)
        except HistoryUnavailableError as error:
            self.problem = str(error)
        return otherwise

    def _use(self, work: Callable[[Connection], Found]) -> Found:
        self.problem = ""

        def use(connection: Connection) -> Found:
            self._import_pending(connection)
            return work(connection)

        found = self._file.use(use)
        self.problem = "; ".join(filter(None, (self._file.repair, self.problem)))
        return found

    def _import_pending(self, connection: Connection) -> None:
        from sqlite3 import OperationalError

        found = pending.read_pending(self.place)
        if not found:
            return
        try:
            _store(connection, [run for run in found.values() if run is not None])
        except OperationalError as error:
            if not is_not_writable(error):
                raise
            self.problem = f"{self._file.path}: {error}; {len(found)} runs wait to be kept"
            return
        pending.remove_pending(self.place, found)

    def _queue(self, runs: Sequence[PastRun], why: BusyError) -> str:
        try:
            for run in runs:
                pending.queue_run(self.place, run)
        except OSError as error:
            return f"{why}; not kept: {error.strerror or error}"
        return ""


def _store(connection: Connection, runs: Iterable[PastRun]) -> None:
    rows = [tuple(getattr(run, name) for name in COLUMNS) for run in runs]
    with transaction(connection):
        connection.executemany(_STORE, rows)
        for run in runs:  # a damaged page may take a row that nobody finds
            given = (run.fingerprint, f"{run.run_id}{_SUCCESSOR}", 1)
            newest = connection.execute(_BEFORE, given).fetchone()
            if newest is None or newest[0] != run.run_id:
                raise DamagedError("it does not have what was written into it")
        for fingerprint in {run.fingerprint for run in runs}:
            connection.execute(_TRIM_ONE, (fingerprint, MOST_PER_FINGERPRINT))
        connection.execute(_TRIM_ALL, (MOST,))


def _select(connection: Connection, query: str, given: Sequence[object] = ()) -> Iterator[PastRun]:
    for row in connection.execute(query, given):
        try:
            yield PastRun.from_fields(dict(zip(COLUMNS, row, strict=True)))
        except ValueError:
            continue  # nobody of ours wrote it
