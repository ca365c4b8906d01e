"""Which files there are: what was asked for, and the usual results below the working directory.

A run is surveyed twice, after its launch (the baseline) and at its end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from gpualert_common.artifacts.globs import OutsideRootError, UsualResults, is_inside, read_glob
from gpualert_common.artifacts.safe_open import refusal, resolve
from gpualert_common.artifacts.walk import MOST_DEPTH, MOST_ENTRIES, Walk
from gpualert_common.record import Record

DEADLINE_S = 2.0
"""For one survey.  A local disk gives MOST_ENTRIES in that time; a network folder what it can."""
_MOST_GLOBS = 100


class FoundFile(NamedTuple):
    """A file of ours.  ``path`` is relative to the working directory, absolute outside of it.

    The four numbers together are another after every change; ``asked``: an explicit GLOB names it.
    """

    path: str
    asked: bool
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @property
    def identity(self) -> tuple[int, int, int, int]:
        """What differs after every change."""
        return self[2:]


class MissedFile(NamedTuple):
    """Something that was asked for and cannot be had; ``gone``: nothing is there."""

    path: str
    why: str
    gone: bool


class SearchResult(NamedTuple):
    """What one look found.

    ``complete`` is False where it was ended by time or by the number of names; ``beyond_cap``
    counts files that were seen but are not in ``found``.
    """

    found: tuple[FoundFile, ...]
    missed: tuple[MissedFile, ...]
    complete: bool
    beyond_cap: int
    notes: tuple[str, ...]


def survey(
    root: str | None,
    globs: Sequence[str],
    *,
    deadline_s: float,
    most: int,
    skip: AbstractSet[tuple[int, int]] = frozenset(),
    keep: Callable[[FoundFile], bool] = lambda _found: True,
) -> SearchResult:
    """The files that ``globs`` name, then the usual results below ``root``; at most ``most``.

    ``skip`` are folders, by device and inode, that are not entered; ``keep`` is asked of each file.
    None of this raises; what was not seen stands in ``notes``.
    """
    search = _Search(root, time.monotonic() + deadline_s, most, skip, keep)
    for text in globs[:_MOST_GLOBS]:
        search.search_for(text)
    if len(globs) > _MOST_GLOBS:
        search.notes.append(f"of {len(globs)} globs the first {_MOST_GLOBS} were looked for")
    search.search_around()
    return search.result()


class _Search:
    """A survey that is going on."""

    def __init__(
        self,
        root: str | None,
        until: float,
        most: int,
        skip: AbstractSet[tuple[int, int]],
        keep: Callable[[FoundFile], bool],
    ) -> None:
        self._cwd = resolve(root) if root is not None and os.path.isabs(root) else None
        self._until = until
        self._most = most
        self._skip = skip
        self._keep = keep
        self._found: dict[str, FoundFile] = {}
        self._seen: set[str] = set()
        self._missed: dict[str, MissedFile] = {}
        self._complete = True
        self._beyond = 0
        self.notes: list[str] = []

    def result(self) -> SearchResult:
        """What was found."""
        notes = tuple(dict.fromkeys(self.notes))
        # What was a link at one look may be a file at the next.
        missed = tuple(one for path, one in self._missed.items() if path not in self._found)
        found = tuple(self._found.values())
        return SearchResult(found, missed, self._complete, self._beyond, notes)

    def search_for(self, text: str) -> None:
        """Add what a GLOB names."""
        try:
            glob = read_glob(text, self._cwd)
        except OutsideRootError:
            self._miss(text, "a link leads out of the run's working directory")
            return
        except (ValueError, OSError) as error:
            self._miss(text, f"no file can have this name: {error}")
            return
        limit = glob.root
        if self._cwd is not None and is_inside(glob.root, self._cwd):
            limit = self._cwd
        if glob.is_literal:
            self._take_one(os.path.join(glob.root, *map(str, glob.parts)), limit)
            return
        walk = Walk(glob.root, glob, until=self._until, skip=self._skip)
        hits = self._take(glob.root, walk.files(), asked=True)
        for path in walk.links:
            self._take_one(os.path.join(glob.root, path), limit)
        for path, why in walk.refused:
            self._miss(os.path.join(glob.root, path), why)
        self._report(walk, f"the search for {text}")
        if walk.complete and not (hits or walk.links or walk.refused):
            why = f": {walk.problem}" if walk.problem else ""
            self.notes.append(f"nothing matched {text}{why}")

    def search_around(self) -> None:
        """Add the usual results below the working directory."""
        if self._cwd is None:
            self.notes.append(
                "the run's working directory is not known: only globs were looked for"
            )
            return
        walk = Walk(self._cwd, UsualResults(), until=self._until, skip=self._skip)
        self._take(self._cwd, walk.files(), asked=False)
        if walk.problem:
            self.notes.append(f"the run's working directory cannot be read: {walk.problem}")
        self._report(walk, "the search below the working directory")
        others = len(walk.refused)
        if others:
            self.notes.append(f"{others} that belong to other users or are no files were passed by")
        if walk.links:
            self.notes.append(f"{len(walk.links)} links were not followed")

    def _take(self, root: str, files: Iterable[tuple[str, os.stat_result]], *, asked: bool) -> int:
        """Add files below ``root``; returns how many there were."""
        hits = 0
        for path, status in files:
            hits += 1
            shown = self._shown(os.path.join(root, path))
            if shown in self._seen:
                continue
            if asked:
                self._seen.add(shown)  # the usual ones come last, and each once
            times = (status.st_mtime_ns, status.st_ctime_ns)
            found = FoundFile(shown, asked, status.st_size, *times, status.st_ino)
            if not self._keep(found):
                continue
            if len(self._found) < self._most:
                self._found[shown] = found
            else:
                self._beyond += 1
        return hits

    def _take_one(self, path: str, limit: str) -> None:
        """Add the file that ``path`` is or links to, unless that lies out of ``limit``."""
        target = resolve(path)
        if not is_inside(target, limit):
            self._miss(path, "a link that leads out of where it was looked for")
            return
        try:
            status = os.lstat(target)
        except FileNotFoundError:
            self._miss(path, "it was not there when files were looked for", gone=True)
            return
        except OSError as error:
            self._miss(path, error.strerror or str(error))
            return
        why = refusal(status)
        if why:
            self._miss(path, why)
        else:
            folder, name = os.path.split(target)
            self._take(folder, [(name, status)], asked=True)

    def _miss(self, path: str, why: str, *, gone: bool = False) -> None:
        path = self._shown(path)
        if len(self._missed) < self._most:
            self._missed.setdefault(path, MissedFile(path, why, gone))
        elif path not in self._missed:
            self._beyond += 1

    def _report(self, walk: Walk, what: str) -> None:
        """Note what a walk did not see."""
        if not walk.complete:
            self._complete = False
            self.notes.append(
                f"{what} ended before everything was seen (after {MOST_ENTRIES} names or when its "
                "time was up); what it did not reach is not counted"
            )
        for count, text in (
            (walk.strange_folders, "on other filesystems"),
            (walk.deep_folders, f"more than {MOST_DEPTH} levels deep"),
            (walk.closed_folders, "that cannot be read"),
            (walk.own_folders, "with gpualert's own state"),
        ):
            if count:
                self.notes.append(f"{what} left out folders {text} ({count})")

    def _shown(self, path: str) -> str:
        if self._cwd is not None and os.path.isabs(path) and is_inside(path, self._cwd):
            return path[len(self._cwd.rstrip("/")) + 1 :]
        return path


def own_folders(record: Record) -> frozenset[tuple[int, int]]:
    """Where gpualert keeps its own: the record, and the state directory that it lies in."""
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


def globs_of(spec: dict[str, Any]) -> tuple[str, ...]:
    """The globs that a launch record names; what is none is passed over."""
    alerts = spec.get("alerts")
    globs = alerts.get("artifacts") if isinstance(alerts, dict) else None
    if not isinstance(globs, list | tuple):
        return ()
    return tuple(text for text in globs if isinstance(text, str))
