"""What a run made: the files that are new or others than after its launch."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpualert_common.artifacts.safe_open import resolve
from gpualert_common.artifacts.search import FoundFile, MissedFile, globs_of, own_folders, survey
from gpualert_common.artifacts.snapshot import DirectorySnapshot, read_baseline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpualert_common.record import Record

MOST_LISTED = 1_000
"""Rows of a manifest; more are counted."""
CLOCK_SLACK_NS = 2 * 10**9
"""A file server's clock may be behind ours, and some filesystems keep times in steps of 2 s."""
TICK_NS = 20 * 10**6
"""The kernel writes the time of its last tick into a file.  That is all the slack for what stood
there when the baseline was taken, or a setting that was written just before counted as a result."""


@dataclass(frozen=True, slots=True)
class FileCandidate:
    """A file that a message could carry.

    ``path`` is absolute and without links, ``name`` what people are shown.  ``asked``: an explicit
    GLOB names it; ``changed``: by the run.  ``missed`` says why it cannot be had.
    """

    path: str
    name: str
    asked: bool = False
    changed: bool = True
    size: int | None = None
    missed: MissedFile | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """The candidates of a run, how many more there were, and what was not seen."""

    candidates: tuple[FileCandidate, ...]
    beyond_cap: int
    notes: tuple[str, ...]


def changed(
    record: Record,
    globs: Sequence[str] | None = None,
    *,
    deadline_s: float,
    most: int = MOST_LISTED,
) -> Changes:
    """The files that ``globs`` (None: those of the launch record) name, and the usual results that
    the run made or changed.

    A file was changed when it is not what the baseline says, or when its times say so: they are
    later than the launch record.  ``ctime`` cannot be set back, so copies that keep their times are
    seen, and so is what a quick run wrote before the baseline was taken.  Raises RecordError.
    """
    spec = record.spec
    cwd = spec.get("cwd")
    judge = _ChangeFilter(read_baseline(record), float(spec.get("created_at") or 0.0))
    found = survey(
        cwd if isinstance(cwd, str) else None,
        globs_of(spec) if globs is None else globs,
        deadline_s=deadline_s,
        most=most,
        skip=own_folders(record),
        keep=judge.keep,
    )
    root = resolve(cwd) if isinstance(cwd, str) else "/"
    candidates = [
        FileCandidate(os.path.join(root, missed.path), missed.path, True, False, missed=missed)
        for missed in found.missed
    ]
    candidates += [
        FileCandidate(
            os.path.join(root, file.path),
            file.path,
            asked=file.asked,
            changed=file.path in judge.changed,
            size=file.size,
        )
        for file in found.found
    ]
    beyond = found.beyond_cap + len(candidates[most:])
    notes = list(found.notes)
    if judge.missing and found.complete:
        notes.append(f"{judge.missing} that were there after the launch are gone")
    return Changes(tuple(candidates[:most]), beyond, tuple(notes))


class _ChangeFilter:
    """Tells what the run changed from what it found there."""

    def __init__(self, baseline: DirectorySnapshot | None, created_at: float) -> None:
        self._before = {} if baseline is None else baseline.files
        self._knows_all = baseline is not None and baseline.complete
        self._began_ns = int(created_at * 1e9)
        self._still_there = 0
        self.changed: set[str] = set()

    def keep(self, found: FoundFile) -> bool:
        """True for a file that is a candidate."""
        before = self._before.get(found.path)
        touched_ns = max(found.mtime_ns, found.ctime_ns)
        if before is None:
            changed = self._knows_all or touched_ns >= self._began_ns - CLOCK_SLACK_NS
        else:
            self._still_there += 1
            changed = before != found.identity or touched_ns >= self._began_ns - TICK_NS
        if changed:
            self.changed.add(found.path)
        return changed or found.asked

    @property
    def missing(self) -> int:
        """How many of the baseline were not met again."""
        return len(self._before) - self._still_there
