"""A SQLite file that one process at a time has open: locked, and recreated if it is damaged.

The lock is on a separate file.  So a damaged file can be renamed while nobody writes to it, and the
rows do not depend on SQLite's own locks, which some network file systems do not support correctly.
If locking fails, the file is not available.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, TypeVar

from gpualert_common.record.files import find_refusal, open_lock, try_lock
from gpualert_common.record.private_directory import open_private

if TYPE_CHECKING:
    from sqlite3 import Connection, Error  # imported on use: that takes milliseconds

DEADLINE_S = 0.2
"""Maximum time that a call waits for other processes."""

_POLL_S = 0.003
_MOST_DAMAGED = 3
_MOST_CHARS = 200
_FILE_SUFFIXES = ("", "-journal", "-wal", "-shm")
"""A file and SQLite's journals of it, which SQLite would apply to a new file."""

# SQLite's primary result codes, https://sqlite.org/rescode.html.
_PRIMARY = 0xFF
_BUSY = {5, 6}  # BUSY, LOCKED
_DAMAGED = {1, 11, 26}  # ERROR (no such table), CORRUPT, NOTADB
_NOT_WRITABLE = {8, 10, 13, 14}  # READONLY, IOERR, FULL, CANTOPEN

Found = TypeVar("Found")


class HistoryUnavailableError(Exception):
    """The file is not available; the message names it and the reason."""


class BusyError(HistoryUnavailableError):
    """Other processes hold the lock."""


class DamagedError(Exception):
    """The file is damaged."""


class Database:
    """The file ``name`` in ``place``, created with the statements ``tables`` of version ``schema``.

    ``application`` is its SQLite application id.  After a call ``repair`` describes the damaged
    file that the call renamed, and ``is_new`` is True if the call created the file.  Written rows
    are durable.
    """

    def __init__(
        self, place: str, name: str, *, application: int, schema: int, tables: Sequence[str]
    ) -> None:
        self.path = os.path.join(place, name)
        self.repair = ""
        self.is_new = False
        self._place = place
        self._name = name
        self._application = application
        self._schema = schema
        self._tables = tables

    @property
    def exists(self) -> bool:
        """True if the file exists, whatever its content."""
        return os.path.lexists(self.path)

    def use(self, work: Callable[[Connection], Found]) -> Found:
        """Return the result of ``work`` on the open file, or on a new one if the file is damaged.

        Raises BusyError after :data:`DEADLINE_S`, HistoryUnavailableError for every other failure.
        """
        self.repair, self.is_new = "", False
        deadline = time.monotonic() + DEADLINE_S
        try:
            folder = open_private(self._place)
            try:
                with self._hold_lock(folder, deadline):
                    return self._use_locked(folder, work, deadline)
            finally:
                os.close(folder)
        except ImportError as error:
            raise HistoryUnavailableError(f"this Python has no SQLite: {error}") from None
        except OSError as error:
            raise HistoryUnavailableError(f"{self.path}: {error.strerror or error}") from None
        except DamagedError as error:
            raise HistoryUnavailableError(f"{self.path}: {error}") from None

    def _use_locked(
        self, folder: int, work: Callable[[Connection], Found], deadline: float
    ) -> Found:
        try:
            return self._open_and_run(folder, work, deadline)
        except DamagedError as error:
            kept = self._rename_damaged(folder)
            self.repair = f"{self.path}: {error}; kept as {kept}, created again"
            return self._open_and_run(folder, work, deadline)

    @contextmanager
    def _hold_lock(self, folder: int, deadline: float) -> Iterator[None]:
        fd = self._open_lock(folder)
        if fd < 0:
            yield
            return
        try:
            while not try_lock(fd):
                if time.monotonic() >= deadline:
                    raise BusyError(f"{self.path}: locked by another process for {DEADLINE_S:g} s")
                time.sleep(_POLL_S)
            try:
                yield
            finally:
                fcntl.flock(fd, fcntl.LOCK_UN)  # a child of the caller may hold a copy
        finally:
            os.close(fd)

    def _open_lock(self, folder: int) -> int:
        """Return a descriptor of the lock; -1 if neither lock nor file can be written."""
        name = f"{os.path.splitext(self._name)[0]}.lock"
        try:
            return open_lock(name, dir_fd=folder)
        except OSError:
            if not self.exists or os.access(self._place, os.W_OK):
                raise
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            return os.open(name, flags, dir_fd=folder)
        except FileNotFoundError:
            return -1

    def _open_and_run(
        self, folder: int, work: Callable[[Connection], Found], deadline: float
    ) -> Found:
        import sqlite3

        self._create_or_check(folder)
        left_s = max(0.0, deadline - time.monotonic())
        try:
            opened = sqlite3.connect(self.path, timeout=left_s, isolation_level=None)
            with closing(opened) as connection:
                connection.text_factory = lambda text: text.decode("utf-8", "replace")
                connection.execute("PRAGMA synchronous = NORMAL")
                self._create_tables(connection)
                return work(connection)
        except UnicodeDecodeError:  # raised for an SQLite error that quotes binary content
            raise DamagedError("its schema is not text") from None
        except sqlite3.Error as error:
            code = result_code(error)
            if code in _DAMAGED:
                raise DamagedError(_format_error(error)) from None
            kind = BusyError if code in _BUSY else HistoryUnavailableError
            raise kind(f"{self.path}: {_format_error(error)}") from None

    def _create_or_check(self, folder: int) -> None:
        """Create the file if it is missing.

        Raises for a file or journal of another user: SQLite would apply that journal, and remove
        the file that it names.
        """
        for suffix in _FILE_SUFFIXES:
            name = self._name + suffix
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                continue
            problem = find_refusal(status)
            if problem and not stat.S_ISREG(status.st_mode):
                raise DamagedError(problem)
            if problem:
                raise HistoryUnavailableError(f"{self.path}{suffix}: {problem}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            os.close(os.open(self._name, flags | os.O_EXCL, 0o600, dir_fd=folder))
        except FileExistsError:
            pass

    def _create_tables(self, connection: Connection) -> None:
        """Create the tables in a new file.  Raises for a file of another application."""
        application, schema = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        if application == self._application and schema > self._schema:
            raise HistoryUnavailableError(
                f"{self.path}: schema {schema} was written by a newer gpualert and is not "
                f"changed; this release reads up to {self._schema}: upgrade gpualert-common"
            )
        if application == self._application and schema:
            return
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise DamagedError("it is a database of another application")
        with transaction(connection):
            for statement in self._tables:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {self._application}")
            connection.execute(f"PRAGMA user_version = {self._schema}")
        self.is_new = True

    def _rename_damaged(self, folder: int) -> str:
        """Rename the file to the next free number and return its new name."""
        lead = f"{self._name}.damaged-"
        tails = [name.removeprefix(lead) for name in os.listdir(folder)]
        numbers = sorted(int(tail) for tail in tails if tail.isdecimal())
        for old in numbers[: 1 - _MOST_DAMAGED]:
            for end in _FILE_SUFFIXES:
                try:
                    os.unlink(f"{lead}{old}{end}", dir_fd=folder)
                except OSError:
                    continue
        new = f"{lead}{numbers[-1] + 1 if numbers else 1}"
        for end in _FILE_SUFFIXES:
            try:
                os.rename(self._name + end, new + end, src_dir_fd=folder, dst_dir_fd=folder)
            except FileNotFoundError:
                continue
        return new


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Run statements in one transaction.  Raises sqlite3.Error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def result_code(error: Error) -> int:
    """Return SQLite's primary result code; 0 for an error that is not SQLite's."""
    return getattr(error, "sqlite_errorcode", 0) & _PRIMARY


def is_not_writable(error: Error) -> bool:
    """Return whether the file may still be readable: a full disk, a read-only one."""
    return result_code(error) in _NOT_WRITABLE


def _format_error(error: Error) -> str:
    """Return the text of an error, which may quote a damaged file, in printable characters."""
    text = str(error)[:_MOST_CHARS]
    return "".join(char if char.isprintable() else "?" for char in text)
