"""Space, inodes and read-only states of the file systems that a run writes to.

Everybody may ask.  Quotas are not seen.  A file system that does not answer, such as that of a
server that is gone, holds up none of the others.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpualert_common.processes.procfs import await_environment, parse_environment, read_cwd
from gpualert_common.telemetry.mounts import mount_of
from gpualert_common.telemetry.source import ObservedRun, Sample, Source, SourceEvent

PATIENCE_S = 0.2
"""So long a look waits for an answer; local disks give it in microseconds."""

_GIB = 1 << 30
_HARMLESS = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM)
"""The directory is gone, or not for us; anything else, such as ESTALE, is the file system's."""
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - what data loaders pass their batches through


class Disk(Source):
    """The file systems by what the run does there: "disk:log", "disk:cwd", "disk:tmp", "disk:shm".

    Numbers: ``size_bytes``, ``free_bytes`` (to an ordinary user), ``inodes_free`` where there is a
    number of them, ``read_only`` and ``stalled`` (0 or 1).  Facts: path, type and device of each.

    Events: ``disk_low`` when less than 1 % or 1 GiB is free (10 % where that is less, as on a
    shared memory of 64 MiB), or less than 1 % of the inodes; ``disk_read_only`` when one turned
    read-only; ``disk_stalled`` when one did not answer from one look to the next, ``disk_answers``
    when it does again, and ``disk_error`` when it answers with an error, such as a stale handle.
    """

    decides = (
        "disk_full, shared_memory and filesystem_io by what is free, and writable; "
        "supports C2 and C3 by file systems that do not answer"
    )

    def __init__(self, subject: ObservedRun | None) -> None:
        self._places = {of: _Place(of, path) for of, path in _paths(subject).items()}

    @property
    def facts(self) -> Mapping[str, Any]:
        """Of each: the path that was asked, and what is mounted there."""
        return {of: place.facts for of, place in self._places.items()}

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """The file systems of now."""
        for place in self._places.values():
            yield from place.sample()


SOURCE: type[Source] = Disk


def _paths(subject: ObservedRun | None) -> dict[str, str]:
    if subject is None:
        return {"disk:cwd": os.getcwd(), "disk:shm": _SHARED_MEMORY}
    temporary = parse_environment(await_environment(subject.pid)).get("TMPDIR") or "/tmp"  # noqa: S108 - theirs
    log = subject.logs[0] if subject.logs else subject.record_path
    paths = {
        "disk:log": os.path.dirname(log),
        "disk:cwd": read_cwd(subject.pid) or subject.cwd,
        "disk:tmp": temporary,
        "disk:shm": _SHARED_MEMORY,
    }
    return {of: path for of, path in paths.items() if path}


class _Place:
    """One file system, by a directory on it."""

    def __init__(self, of: str, path: str) -> None:
        self.of = of
        self.path = path
        first = _Question(path)
        first.join(PATIENCE_S)
        self._question: _Question | None = first if first.is_alive() else None
        self.facts = {"path": path, **mount_of(first.real or path)}
        self._is_late = False
        self._is_stalled = False
        self._is_low = False
        self._was_writable = False
        self._error = ""

    def sample(self) -> Iterator[Sample | SourceEvent]:
        question = self._question or _Question(self.path)
        question.join(PATIENCE_S)
        if question.is_alive():
            if self._is_late:  # since the last look, at least
                yield Sample(self.of, {"stalled": 1})
                if not self._is_stalled:
                    self._is_stalled = True
                    yield self._event("disk_stalled", "does not answer")
            self._question, self._is_late = question, True
            return
        self._question, self._is_late = None, False
        if self._is_stalled:
            self._is_stalled = False
            yield self._event("disk_answers", "answers again")
        if question.found is not None:
            yield from self._report(question.found)
        if question.error and question.error != self._error:
            yield self._event("disk_error", f"answers: {question.error}")
        self._error = question.error

    def _event(self, what: str, does: str, **fields: int) -> SourceEvent:
        text = f"the file system of {self.path} {does}"
        return SourceEvent(what, self.of, text, {"path": self.path, **fields})

    def _report(self, found: os.statvfs_result) -> Iterator[Sample | SourceEvent]:
        size, free = found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
        read_only = bool(found.f_flag & os.ST_RDONLY)
        values = {
            "size_bytes": size,
            "free_bytes": free,
            "read_only": int(read_only),
            "stalled": 0,
        }
        if found.f_files:  # some file systems have no fixed number of them
            values["inodes_free"] = found.f_favail
        yield Sample(self.of, values)
        low = low_below(size) * (2 if self._is_low else 1)  # told once, until there is space again
        is_low = not read_only and free < low
        few_inodes = not read_only and found.f_files and found.f_favail < found.f_files // 100
        if (is_low or few_inodes) and not self._is_low:
            left = f"{free / 2**20:.0f} MiB" if is_low else f"{found.f_favail} inodes"
            fields = {"free_bytes": free, "size_bytes": size, "inodes_free": found.f_favail}
            yield self._event("disk_low", f"has {left} left", **fields)
        self._is_low = bool(is_low or few_inodes)
        if read_only and self._was_writable:
            yield self._event("disk_read_only", "turned read-only")
        self._was_writable = not read_only


def low_below(size_bytes: int) -> float:
    """Bytes below which so large a file system is nearly full."""
    return max(size_bytes / 100, min(_GIB, size_bytes / 10))


class _Question(threading.Thread):
    """Asks once; in a thread of its own, since the answer may never come."""

    def __init__(self, path: str) -> None:
        super().__init__(name=f"gpualert-disk-{path}", daemon=True)
        self._path = path
        self.real = ""
        self.found: os.statvfs_result | None = None
        self.error = ""
        self.start()

    def run(self) -> None:
        try:
            self.real = os.path.realpath(self._path)
            self.found = os.statvfs(self.real)
        except OSError as error:
            if error.errno not in _HARMLESS:
                self.error = error.strerror or str(error)
