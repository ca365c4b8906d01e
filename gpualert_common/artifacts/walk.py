"""Walks the folders below one root, the shallow ones first, at a bounded price.

A huge folder is read in slices, so that it does not keep the others waiting.  Nothing is opened but
folders, and those without following a link; a folder that does not answer (a dead network mount)
can be bounded by the death of this process only.
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
from gpualert_common.artifacts.safe_open import open_below, open_folder, refusal

MOST_ENTRIES = 200_000
"""Names that one walk reads; about half a second where nothing else holds it up."""
MOST_DEPTH = 64
SLICE = 10_000
"""Names read of one folder before others have their turn."""
HEAVY = frozenset({"node_modules", "__pycache__", "site-packages"})
_MARKS_OF_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")


class Names(Protocol):
    """Decides which files are wanted, and which folders may hold some."""

    def begin(self) -> State:
        """Return the state at the root."""

    def enter(self, state: State, name: str) -> State | None:
        """Return the state below a folder; None where it is not entered."""

    def takes(self, state: State, name: str) -> bool:
        """True for a wanted file."""


class _Folder:
    """A folder that is being read.  Its state is that of the names wanted."""

    __slots__ = ("_fd", "entries", "parts", "state")

    def __init__(self, fd: int, parts: tuple[str, ...], state: State) -> None:
        self._fd = fd
        self.parts = parts
        self.state = state
        self.entries = os.scandir(fd)

    def status(self, name: str) -> os.stat_result:
        """The status of what is in it, of a link itself.  Raises OSError."""
        return os.stat(name, dir_fd=self._fd, follow_symlinks=False)

    def close(self) -> None:
        """Stop reading."""
        self.entries.close()
        os.close(self._fd)


class Walk:
    """One walk; when its files have been had, it says what it did not see.

    ``complete`` is False where time or the number of names ended it; the counts are of what was
    wanted by its name and is none of ours, and of folders that were not entered.
    """

    def __init__(
        self, root: str, names: Names, *, until: float, skip: AbstractSet[tuple[int, int]]
    ) -> None:
        self._root = root
        self._names = names
        self._until = until
        self._entries_left = MOST_ENTRIES
        self._seen = set(skip)
        self._skip = skip
        self._device = -1
        self._waiting: deque[_Folder | tuple[tuple[str, ...], State]] = deque()
        self.complete = True
        self.problem = ""
        self.links: list[str] = []
        self.refused: list[tuple[str, str]] = []
        self.strange_folders = 0
        self.deep_folders = 0
        self.closed_folders = 0
        self.own_folders = 0

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Every wanted file of ours, by its path below the root; ``problem`` if there is none."""
        try:
            root = self._begin()
        except OSError as error:
            self.problem = error.strerror or str(error)
            return
        try:
            while self._waiting and self.complete:
                readable = self._next(root)
                if readable is not None:
                    yield from self._slice(readable)
        finally:
            for folder in self._waiting:
                if isinstance(folder, _Folder):
                    folder.close()
            os.close(root)

    def _begin(self) -> int:
        root = open_folder(self._root)
        self._device = os.fstat(root).st_dev
        self._waiting.append(((), self._names.begin()))
        return root

    def _next(self, root: int) -> _Folder | None:
        """The folder whose turn it is; None when it cannot or need not be read."""
        waiting = self._waiting.popleft()
        if isinstance(waiting, _Folder):
            return waiting
        parts, state = waiting
        try:
            fd = open_below(parts, os.dup(root), listed=True)
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
            self.strange_folders += 1
            return False
        if identity in self._seen:
            self.own_folders += identity in self._skip
            return False
        self._seen.add(identity)
        return not any(_is_there(mark, fd) for mark in _MARKS_OF_ENVIRONMENTS)

    def _slice(self, folder: _Folder) -> Iterator[tuple[str, os.stat_result]]:
        """The wanted files among the next names of a folder; it waits again if there are more."""
        keep = False
        try:
            for _ in range(SLICE):
                entry = next(folder.entries, None)
                if entry is None:
                    return
                self._entries_left -= 1
                if self._entries_left < 0 or time.monotonic() > self._until:
                    self.complete = False
                    return
                status = self._enter(folder, entry)
                if status is not None:
                    yield "/".join((*folder.parts, entry.name)), status
            self._waiting.append(folder)
            keep = True
        except OSError:
            self.closed_folders += 1  # it went away, or its disk did, while it was read
        finally:
            if not keep:
                folder.close()

    def _enter(self, folder: _Folder, entry: os.DirEntry[str]) -> os.stat_result | None:
        """The status of a wanted file; a folder waits for its turn."""
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            self._meet_folder(folder, name)
            return None
        if not self._names.takes(folder.state, name):
            return None
        path = "/".join((*folder.parts, name))
        try:
            status = folder.status(name)
        except FileNotFoundError:
            return None
        except OSError as error:
            self.refused.append((path, error.strerror or str(error)))
            return None
        why = refusal(status)
        if stat.S_ISLNK(status.st_mode):
            self.links.append(path)
        elif why:
            self.refused.append((path, why))
        else:
            return status
        return None

    def _meet_folder(self, folder: _Folder, name: str) -> None:
        state = None if name in HEAVY else self._names.enter(folder.state, name)
        if state is None:
            return
        if len(folder.parts) >= MOST_DEPTH:
            self.deep_folders += 1
        else:
            self._waiting.append(((*folder.parts, name), state))


def _is_there(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
