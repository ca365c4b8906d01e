"""Search for files: those that globs name, and usual results below the working directory.

It runs twice for each run: after the launch, for the baseline, and after the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from gpualert_common.artifacts.globs import OutsideRootError, UsualResults, is_inside, read_glob
from gpualert_common.artifacts.safe_open import resolve_links
from gpualert_common.artifacts.walk import MOST_DEPTH, MOST_ENTRIES, Walk
from gpualert_common.record import Record
from gpualert_common.record.files import find_refusal

DEADLINE_S = 2.0
"""Time for one search: enough for MOST_ENTRIES on a local disk; a network folder may be slower."""
_MOST_GLOBS = 100


class FoundFile(NamedTuple):
    """A file of this user.  ``path`` is relative to the working directory, absolute outside of it.

    ``is_requested`` is True when a GLOB of the user names the file.
    """

    path: str
    is_requested: bool
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @property
    def identity(self) -> tuple[int, int, int, int]:
        """Size, times and inode: together they differ after every change."""
        return self[2:]


def identify(status: os.stat_result) -> tuple[int, int, int, int]:
    """Return the identity of a file of this status, as :attr:`FoundFile.identity` has it."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


class UnavailableFile(NamedTuple):
    """A requested file that cannot be read; ``is_gone`` is True when nothing exists there."""

    path: str
    why: str
    is_gone: bool


class SearchResult(NamedTuple):
    """Result of one search.

    ``is_complete`` is False when the deadline or the limit on names stopped it.  ``beyond_cap``
    counts files that were found but are not in ``files``.
    """

    files: tuple[FoundFile, ...]
    unavailable: tuple[UnavailableFile, ...]
    is_complete: bool
    beyond_cap: int
    notes: tuple[str, ...]


def find_files(
    root: str | None,
    globs: Sequence[str],
    *,
    deadline_s: float,
    most: int,
    skip: AbstractSet[tuple[int, int]] = frozenset(),
    keep: Callable[[FoundFile], bool] = lambda _found: True,
) -> SearchResult:
    """Return the files that ``globs`` name, then usual results below ``root``; at most ``most``.

    Folders in ``skip``, by device and inode, are not entered.  Only files for which ``keep``
    returns True count.  Never raises; ``notes`` say what the search left out.
    """
    search = _Search(root, time.monotonic() + deadline_s, most, skip, keep)
    for text in globs[:_MOST_GLOBS]:
        search.find_requested(text)
    if len(globs) > _MOST_GLOBS:
        search.notes.append(f"only the first {_MOST_GLOBS} of {len(globs)} globs were searched")
    search.find_usual()
    return search.result()


class _Search:
    """State of one search."""

    def __init__(
        self,
        root: str | None,
        until: float,
        most: int,
        skip: AbstractSet[tuple[int, int]],
        keep: Callable[[FoundFile], bool],
    ) -> None:
        self._cwd = resolve_links(root) if root is not None and os.path.isabs(root) else None
        self._until = until
        self._most = most
        self._skip = skip
        self._keep = keep
        self._found: dict[str, FoundFile] = {}
        self._requested: set[str] = set()
        self._unavailable: dict[str, UnavailableFile] = {}
        self._is_complete = True
        self._beyond = 0
        self.notes: list[str] = []

    def result(self) -> SearchResult:
        """Return what was found."""
        notes = tuple(dict.fromkeys(self.notes))
        # A path that was missing at first can be a file later in the same search.
        unavailable = tuple(
            one for path, one in self._unavailable.items() if path not in self._found
        )
        found = tuple(self._found.values())
        return SearchResult(found, unavailable, self._is_complete, self._beyond, notes)

    def find_requested(self, text: str) -> None:
        """Add the files that a GLOB names."""
        try:
            glob = read_glob(text, self._cwd)
        except OutsideRootError:
            self._add_unavailable(text, "a link leads out of the run's working directory")
            return
        except (ValueError, OSError) as error:
            self._add_unavailable(text, f"no file can have this name: {error}")
            return
        limit = glob.root
        if self._cwd is not None and is_inside(glob.root, self._cwd):
            limit = self._cwd
        if glob.is_literal:
            self._add_file(os.path.join(glob.root, *map(str, glob.parts)), limit)
            return
        walk = Walk(glob.root, glob, until=self._until, skip=self._skip)
        hits = self._add_files(glob.root, walk.files(), is_requested=True)
        for path in walk.links:
            self._add_file(os.path.join(glob.root, path), limit)
        for path, why in walk.refused:
            self._add_unavailable(os.path.join(glob.root, path), why)
        self._note_limits(walk, f"the search for {text}")
        if walk.is_complete and not (hits or walk.links or walk.refused):
            why = f": {walk.problem}" if walk.problem else ""
            self.notes.append(f"nothing matched {text}{why}")

    def find_usual(self) -> None:
        """Add the usual results below the working directory."""
        if self._cwd is None:
            self.notes.append("the run's working directory is not known: only globs were searched")
            return
        walk = Walk(self._cwd, UsualResults(), until=self._until, skip=self._skip)
        self._add_files(self._cwd, walk.files(), is_requested=False)
        if walk.problem:
            self.notes.append(f"the run's working directory cannot be read: {walk.problem}")
        self._note_limits(walk, "the search below the working directory")
        others = len(walk.refused)
        if others:
            self.notes.append(f"{others} skipped: not regular files, or files of other users")
        if walk.links:
            self.notes.append(f"{len(walk.links)} links were not followed")

    def _add_files(
        self, root: str, files: Iterable[tuple[str, os.stat_result]], *, is_requested: bool
    ) -> int:
        """Add files below ``root``; return how many there were."""
        count = 0
        for path, status in files:
            count += 1
            short = self._shorten(os.path.join(root, path))
            if short in self._requested:
                continue
            if is_requested:
                self._requested.add(
                    short
                )  # the search for usual results comes last and skips these
            found = FoundFile(short, is_requested, *identify(status))
            if not self._keep(found):
                continue
            if len(self._found) < self._most:
                self._found[short] = found
            else:
                self._beyond += 1
        return count

    def _add_file(self, path: str, limit: str) -> None:
        """Add the file that ``path`` is or links to, unless it lies outside ``limit``."""
        target = resolve_links(path)
        if not is_inside(target, limit):
            self._add_unavailable(path, "a link that leads out of the searched folder")
            return
        try:
            status = os.lstat(target)
        except FileNotFoundError:
            self._add_unavailable(path, "it did not exist at the time of the search", is_gone=True)
            return
        except OSError as error:
            self._add_unavailable(path, error.strerror or str(error))
            return
        why = find_refusal(status)
        if why:
            self._add_unavailable(path, why)
        else:
            folder, name = os.path.split(target)
            self._add_files(folder, [(name, status)], is_requested=True)

    def _add_unavailable(self, path: str, why: str, *, is_gone: bool = False) -> None:
        path = self._shorten(path)
        if len(self._unavailable) < self._most:
            self._unavailable.setdefault(path, UnavailableFile(path, why, is_gone))
        elif path not in self._unavailable:
            self._beyond += 1

    def _note_limits(self, walk: Walk, what: str) -> None:
        """Note what a walk left out."""
        if not walk.is_complete:
            self._is_complete = False
            self.notes.append(
                f"{what} stopped early (after {MOST_ENTRIES} names or at its deadline); files that "
                "it did not reach are not counted"
            )
        for count, text in (
            (walk.mounted_folders, "on other filesystems"),
            (walk.deep_folders, f"more than {MOST_DEPTH} levels deep"),
            (walk.closed_folders, "that cannot be read"),
            (walk.own_folders, "with gpualert's own state"),
        ):
            if count:
                self.notes.append(f"{what} left out folders {text} ({count})")

    def _shorten(self, path: str) -> str:
        if self._cwd is not None and os.path.isabs(path) and is_inside(path, self._cwd):
            return path[len(self._cwd.rstrip("/")) + 1 :]
        return path


def find_own_folders(record: Record) -> frozenset[tuple[int, int]]:
    """Return gpualert's own folders: the record, and the state directory around it."""
    runs = os.path.dirname(record.path)
    folders = [record.path]
    if os.path.basename(runs) == "runs":
        folders += [runs, os.path.dirname(runs)]
    found = set()
    for folder in folders:
        try:
            status = os.stat(folder)
        except OSError:
            continue
        found.add((status.st_dev, status.st_ino))
    return frozenset(found)
