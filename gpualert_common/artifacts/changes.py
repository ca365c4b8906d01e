"""Files that a run created or changed since its launch."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from gpualert_common.artifacts.safe_open import resolve_links
from gpualert_common.artifacts.search import (
    FoundFile,
    UnavailableFile,
    find_files,
    find_own_folders,
)
from gpualert_common.artifacts.snapshot import DirectorySnapshot, read_baseline
from gpualert_common.model import SCHEMA
from gpualert_common.record import EXIT
from gpualert_common.structs import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpualert_common.record import Record

MOST_LISTED = 1_000
"""Maximum number of rows in a manifest; further files are only counted."""
CLOCK_SLACK_NS = 2 * 10**9
"""The clock of a file server can be behind, and some filesystems store times in steps of 2 s."""
TICK_NS = 20 * 10**6
"""The kernel stamps a file with the time of its last tick.  Files in the baseline get no more slack
than that; otherwise a settings file written just before the run would count as a result."""

_OF_WATCHED = "files of a process that gpualert did not start are not collected"


class FileCandidate(Struct, frozen=True):
    """A file that an alert could carry.

    ``path`` is absolute and contains no link; ``name`` is the name for display.  ``is_requested``
    is True when a GLOB of the user names the file, ``is_changed`` when the run created or changed
    it.  ``late_because`` says why it counts as changed after the end of the run, and is empty for
    another file; ``unavailable`` says why the file cannot be read.  ``identity`` is that of
    :class:`~.search.FoundFile`; ``sha256`` and ``copy`` (the name of a file) are those of the
    :mod:`~.freeze`.
    """

    path: str
    name: str
    is_requested: bool = False
    is_changed: bool = True
    size: int | None = None
    unavailable: UnavailableFile | None = None
    late_because: str = ""
    identity: tuple[int, ...] | None = None
    sha256: str | None = None
    copy: str | None = None

    @property
    def priority(self) -> tuple[int, int, str]:
        """Place among the candidates of a run; a lower one comes first."""
        if self.unavailable is not None:
            return 0, 0, self.name  # requested files that are unavailable must be visible
        if self.late_because:
            return 3, self.size or 0, self.name
        rank = 2 if not self.is_changed else 0 if self.is_requested else 1
        return rank, self.size or 0, self.name


class Changes(Struct, frozen=True):
    """The candidates of a run, the number of further ones, and notes on what the search skipped."""

    candidates: tuple[FileCandidate, ...] = ()
    beyond_cap: int = 0
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA


def find_changes(
    record: Record,
    globs: Sequence[str] | None = None,
    *,
    deadline_s: float,
    most: int = MOST_LISTED,
) -> Changes:
    """Return the files that ``globs`` name and the usual results that the run created or changed.

    ``globs`` defaults to the globs in the launch record.  A file is changed when it differs from
    the baseline, or when its times are later than the launch record.  ``ctime`` cannot be set back,
    so the search also finds copies that keep their ``mtime``, and files that a short run wrote
    before the baseline existed.  Files that changed after the end of the run come last, marked as
    late.

    A process that gpualert did not start has no candidates: its working directory, which it chooses
    itself, would name files of the user who watches it.  Raises RecordError.
    """
    spec = record.spec
    if spec.is_watched:
        return Changes(notes=(_OF_WATCHED,))
    end = find_end(record)
    ended_at = None if end is None else end.at
    changes = _ChangeFilter(read_baseline(record), spec.created_at, ended_at, most)
    found = find_files(
        spec.cwd,
        (spec.alerts or {}).get("artifacts", ()) if globs is None else globs,
        deadline_s=deadline_s,
        most=most,
        skip=find_own_folders(record),
        keep=changes.keep,
    )
    root = "/" if spec.cwd is None else resolve_links(spec.cwd)
    candidates = [
        FileCandidate(os.path.join(root, file.path), file.path, True, False, unavailable=file)
        for file in found.unavailable
    ]
    candidates += [
        _make_candidate(root, file, is_changed=file.path in changes.changed_paths)
        for file in found.files
    ]
    because = "" if end is None else end.late_because
    candidates += [_make_candidate(root, file, late_because=because) for file in changes.late]
    beyond = found.beyond_cap + changes.late_beyond + len(candidates[most:])
    notes = list(found.notes)
    if changes.missing_count and found.is_complete:
        notes.append(f"{changes.missing_count} files that existed after the launch no longer exist")
    if changes.late:
        late = len(changes.late) + changes.late_beyond
        notes.append(f"{late} files {because}; they are left out")
    return Changes(tuple(candidates[:most]), beyond, tuple(notes))


class RunEnd(NamedTuple):
    """The end of a run, and what it means to have changed after that."""

    at: float
    late_because: str


def find_end(record: Record) -> RunEnd | None:
    """Return the end of a run, and of the stop that belongs to it; None for a run in progress.

    It is the time of the end record: the rest of a stopped tree may save results after its leader
    has exited.  Where nothing was there to see the end, it is the time of the last output.  Raises
    RecordError.
    """
    end = record.end_record
    if end is None:
        return None
    if end.ended_at is None:
        written = [status.st_mtime for log in record.logs if (status := record.log_status(log))]
        at = max(written, default=record.spec.created_at)
        return RunEnd(at, "changed after the last output of the run, whose end nobody saw")
    stored_at = record.stored_at(EXIT) if record.recovered_at is None else None
    return RunEnd(max(end.ended_at, stored_at or 0.0), "changed after the end of the run")


def _make_candidate(
    root: str, file: FoundFile, *, is_changed: bool = True, late_because: str = ""
) -> FileCandidate:
    return FileCandidate(
        os.path.join(root, file.path),
        file.path,
        is_requested=file.is_requested,
        is_changed=is_changed,
        size=file.size,
        late_because=late_because,
        identity=file.identity,
    )


class _ChangeFilter:
    """Separates the files that the run changed from those that it found, and from later ones."""

    def __init__(
        self,
        baseline: DirectorySnapshot | None,
        created_at: float,
        ended_at: float | None,
        most: int,
    ) -> None:
        self._before = {} if baseline is None else baseline.files
        self._knows_all = baseline is not None and baseline.is_complete
        self._began_ns = int(created_at * 1e9)
        self._ended_ns = None if ended_at is None else int(ended_at * 1e9) + TICK_NS
        self._most = most
        self._still_there = 0
        self.changed_paths: set[str] = set()
        self.late: list[FoundFile] = []
        self.late_beyond = 0

    def keep(self, found: FoundFile) -> bool:
        """Return True for a file that is a candidate."""
        before = self._before.get(found.path)
        touched_ns = max(found.mtime_ns, found.ctime_ns)
        if before is None:
            is_changed = self._knows_all or touched_ns >= self._began_ns - CLOCK_SLACK_NS
        else:
            self._still_there += 1
            is_changed = before != found.identity or touched_ns >= self._began_ns - TICK_NS
        # A time that is still to come is that of a file server whose clock is ahead.
        if self._ended_ns is not None and self._ended_ns < found.ctime_ns <= time.time_ns():
            self._keep_late(found)
            return False
        if is_changed:
            self.changed_paths.add(found.path)
        return is_changed or found.is_requested

    def _keep_late(self, found: FoundFile) -> None:
        if len(self.late) < self._most:
            self.late.append(found)
        else:
            self.late_beyond += 1

    @property
    def missing_count(self) -> int:
        """Number of files in the baseline that the search did not find again."""
        return len(self._before) - self._still_there
