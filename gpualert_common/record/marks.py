"""Marks in a state directory: empty files, each with the name of a record there."""

from __future__ import annotations

import os

from gpualert_common.record.files import open_lock, try_lock
from gpualert_common.record.private_directory import RUNS, open_folder

_LOCK = ".lock"


class RecordMarks:
    """The marks in one folder of each state directory.  A missing mark, or folder, marks nothing.

    So later processes find the records that they have to work on, and need not read the others.
    """

    __slots__ = ("_folder",)

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def add(self, record_path: str) -> None:
        """Mark a record.  Raises OSError."""
        folder = open_folder(find_state_dir(record_path), self._folder, create=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            os.close(os.open(os.path.basename(record_path), flags, 0o600, dir_fd=folder))
        except FileExistsError:
            pass
        finally:
            os.close(folder)

    def remove(self, record_path: str) -> None:
        """Remove the mark of a record.  Raises OSError."""
        folder = open_folder(find_state_dir(record_path), self._folder)
        try:
            os.unlink(os.path.basename(record_path), dir_fd=folder)
        finally:
            os.close(folder)

    def list_records(self, place: str) -> list[str]:
        """Return the paths of the marked records in a state directory, oldest first."""
        try:
            folder = open_folder(place, self._folder)
        except OSError:
            return []
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return []
        finally:
            os.close(folder)
        return [os.path.join(place, RUNS, name) for name in names if not name.startswith(".")]

    def try_lock(self, place: str) -> int:
        """Return a descriptor that locks the marks of a state directory; -1 if that is locked.

        Raises OSError.
        """
        folder = open_folder(place, self._folder)
        try:
            fd = open_lock(_LOCK, dir_fd=folder)
        finally:
            os.close(folder)
        if try_lock(fd):
            return fd
        os.close(fd)
        return -1


UNFINISHED = RecordMarks("unfinished")
"""Runs in progress, and those whose supervisor died before record and alerts were complete."""
UNDELIVERED = RecordMarks("undelivered")
"""Runs with open alerts."""
UNPUBLISHED = RecordMarks("unpublished")
"""Runs whose last digest is not in the job directory yet."""


def find_state_dir(record_path: str) -> str:
    """Return the state directory that a record lies in."""
    return os.path.dirname(os.path.dirname(record_path))
