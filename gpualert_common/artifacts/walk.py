"""Walk over the folders below a root, breadth first, at a bounded cost.

A huge folder is read in slices, so that it does not delay the others.  The walk opens folders only,
and follows no link.  A folder that does not answer (a dead network mount) blocks it until the
process is killed.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Protocol

from gpualert_common.artifacts.globs import State
from gpualert_common.artifacts.safe_open import open_below, open_folder
from gpualert_common.record.files import find_refusal

MOST_ENTRIES = 200_000
"""Names that one walk reads; about half a second on an idle machine."""
MOST_DEPTH = 64
SLICE = 10_000
"""Names read from one folder before the next folder."""
HEAVY = frozenset({"node_modules", "__pycache__", "site-packages"})
_MARKS_OF_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")


class NameFilter(Protocol):
    """Decides which files are wanted, and which folders can contain some."""

    def start(self) -> State:
        """Return the state at the root."""

    def enter(self, state: State, name: str) -> State | None:
        """Return the state below a folder; None when it is not entered."""

    def is_wanted(self, state: State, name: str) -> bool:
        """Return True for a wanted file."""


class _Folder:
    """An open folder, with the state of the name filter in it."""

    __slots__ = ("_fd", "entries", "parts", "state")

    def __init__(self, fd: int, parts: tuple[str, ...], state: State) -> None:
        self._fd = fd
        self.parts = parts
        self.state = state
        self.entries = os.scandir(fd)

    def status(self, name: str) -> os.stat_result:
        """Return the status of an entry; of a link, not of its target.  Raises OSError."""
        return os.stat(name, dir_fd=self._fd, follow_symlinks=False)

    def close(self) -> None:
        """Close the descriptors."""
        self.entries.close()
        os.close(self._fd)


class Walk:
    """One walk; after :meth:`files`, its attributes say what it left out.

    ``is_complete`` is False when the deadline or the limit on names stopped it.  ``links`` and
    ``refused`` are wanted names that are not regular files of this user; the counts are of folders
    that were not entered.
    """

    def __init__(
        self, root: str, names: NameFilter, *, until: float, skip: AbstractSet[tuple[int, int]]
    ) -> None:
        self._root = root
        self._names = names
        self._until = until
        self._entries_left = MOST_ENTRIES
        self._visited = set(skip)
        self._skip = skip
        self._device = -1
        self._waiting: deque[_Folder | tuple[tuple[str, ...], State]] = deque()
        self.is_complete = True
        self.problem = ""
        self.links: list[str] = []
        self.refused: list[tuple[str, str]] = []
        self.mounted_folders = 0
        self.deep_folders = 0
        self.closed_folders = 0
        self.own_folders = 0

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the path below the root and the status of every wanted file of this user.

        Sets ``problem`` when the root cannot be read.
        """
        try:
            root = self._open_root()
        except OSError as error:
            self.problem = error.strerror or str(error)
            return
        try:
            while self._waiting and self.is_complete:
                readable = self._open_next(root)
                if readable is not None:
                    yield from self._read_slice(readable)
        finally:
            for folder in self._waiting:
                if isinstance(folder, _Folder):
                    folder.close()
            os.close(root)

    def _open_root(self) -> int:
        root = open_folder(self._root)
        self._device = os.fstat(root).st_dev
        self._waiting.append(((), self._names.start()))
        return root

    def _open_next(self, root: int) -> _Folder | None:
        """Return the next folder; None when it cannot or need not be read."""
        waiting = self._waiting.popleft()
        if isinstance(waiting, _Folder):
            return waiting
        parts, state = waiting
        try:
            fd = open_below(parts, os.dup(root), is_listed=True)
        except OSError:
            self.closed_folders += 1
            return None
        if parts and not self._is_worth_reading(fd):
            os.close(fd)
            return None
        try:
            return _Folder(fd, parts, state)
        except OSError:
            os.close(fd)
            self.closed_folders += 1
            return None

    def _is_worth_reading(self, fd: int) -> bool:
        status = os.fstat(fd)
        identity = (status.st_dev, status.st_ino)
        if status.st_dev != self._device:
            self.mounted_folders += 1
            return False
        if identity in self._visited:
            self.own_folders += identity in self._skip
            return False
        self._visited.add(identity)
        return not any(_exists(mark, fd) for mark in _MARKS_OF_ENVIRONMENTS)

    def _read_slice(self, folder: _Folder) -> Iterator[tuple[str, os.stat_result]]:
        """Yield wanted files among the next names of a folder; queue it again if more remain."""
        is_queued = False
        try:
            for _ in range(SLICE):
                entry = next(folder.entries, None)
                if entry is None:
                    return
                self._entries_left -= 1
                if self._entries_left < 0 or time.monotonic() > self._until:
                    self.is_complete = False
                    return
                status = self._check_entry(folder, entry)
                if status is not None:
                    yield "/".join((*folder.parts, entry.name)), status
            self._waiting.append(folder)
            is_queued = True
        except OSError:
            self.closed_folders += 1  # the folder or its disk was removed meanwhile
        finally:
            if not is_queued:
                folder.close()

    def _check_entry(self, folder: _Folder, entry: os.DirEntry[str]) -> os.stat_result | None:
        """Return the status of a wanted file, else None; queue a folder."""
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            self._queue_folder(folder, name)
            return None
        if not self._names.is_wanted(folder.state, name):
            return None
        path = "/".join((*folder.parts, name))
        try:
            status = folder.status(name)
        except FileNotFoundError:
            return None
        except OSError as error:
            self.refused.append((path, error.strerror or str(error)))
            return None
        why = find_refusal(status)
        if stat.S_ISLNK(status.st_mode):
            self.links.append(path)
        elif why:
            self.refused.append((path, why))
        else:
            return status
        return None

    def _queue_folder(self, folder: _Folder, name: str) -> None:
        state = None if name in HEAVY else self._names.enter(folder.state, name)
        if state is None:
            return
        if len(folder.parts) >= MOST_DEPTH:
            self.deep_folders += 1
        else:
            self._waiting.append(((*folder.parts, name), state))


def _exists(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
