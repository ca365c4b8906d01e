"""Space, inodes and read-only states of the file systems that a run writes to.

Needs no privilege.  Quotas are not visible.  A file system that does not answer, such as that of a
dead server, delays no other one.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpualert_common.processes.mounts import find_mount
from gpualert_common.processes.procfs import await_environment, parse_environment, read_cwd
from gpualert_common.telemetry.source import ObservedRun, Sample, Source, SourceEvent

ANSWER_TIMEOUT_S = 0.2
"""Time that a sample waits for an answer; local disks answer in microseconds."""

_GIB = 1 << 30
_HARMLESS_ERRORS = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM)
"""The directory is gone or not accessible; any other error, such as ESTALE, is a fault."""
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - data loaders pass batches through it


class Disk(Source):
    """File systems by their use in the run: "disk:log", "disk:cwd", "disk:tmp", "disk:shm".

    Numbers: ``size_bytes``, ``free_bytes`` (for an ordinary user), ``inodes_free`` if their number
    is limited, ``read_only`` and ``stalled`` (0 or 1).  Facts: path, type and device of each.

    Events: ``disk_low`` when less than 1 % or 1 GiB is free (10 % if that is less, as for a shared
    memory of 64 MiB), or less than 1 % of the inodes; ``disk_read_only`` when one becomes
    read-only; ``disk_stalled`` when one does not answer between two samples, ``disk_answers`` when
    it answers again, and ``disk_error`` when it answers with an error, such as a stale handle.
    """

    decides = (
        "full disks, full shared memory and failed file systems, by free space and read-only "
        "states; supports stalled collectives and hangs, by file systems that do not answer"
    )

    def __init__(self, run: ObservedRun | None) -> None:
        self._file_systems = {of: _FileSystem(of, path) for of, path in _find_paths(run).items()}

    @property
    def facts(self) -> Mapping[str, Any]:
        """Path and mount of each file system."""
        return {of: file_system.facts for of, file_system in self._file_systems.items()}

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Yield the present state of the file systems."""
        for file_system in self._file_systems.values():
            yield from file_system.sample()


SOURCE: type[Source] = Disk


def _find_paths(run: ObservedRun | None) -> dict[str, str]:
    if run is None:
        return {"disk:cwd": os.getcwd(), "disk:shm": _SHARED_MEMORY}
    temporary = parse_environment(await_environment(run.pid)).get("TMPDIR") or "/tmp"  # noqa: S108 - theirs
    log = run.logs[0] if run.logs else run.record_path
    paths = {
        "disk:log": os.path.dirname(log),
        "disk:cwd": read_cwd(run.pid) or run.cwd,
        "disk:tmp": temporary,
        "disk:shm": _SHARED_MEMORY,
    }
    return {of: path for of, path in paths.items() if path}


class _FileSystem:
    """One file system, by a directory on it."""

    def __init__(self, of: str, path: str) -> None:
        self.of = of
        self.path = path
        first = _StatCall(path)
        first.join(ANSWER_TIMEOUT_S)
        self._call: _StatCall | None = first if first.is_alive() else None
        self.facts = {"path": path, **find_mount(first.real_path or path)}
        self._is_late = False
        self._is_stalled = False
        self._is_low = False
        self._was_writable = False
        self._error = ""

    def sample(self) -> Iterator[Sample | SourceEvent]:
        call = self._call or _StatCall(self.path)
        call.join(ANSWER_TIMEOUT_S)
        if call.is_alive():
            if self._is_late:  # since the last sample or earlier
                yield Sample(self.of, {"stalled": 1})
                if not self._is_stalled:
                    self._is_stalled = True
                    yield self._make_event("disk_stalled", "does not answer")
            self._call, self._is_late = call, True
            return
        self._call, self._is_late = None, False
        if self._is_stalled:
            self._is_stalled = False
            yield self._make_event("disk_answers", "answers again")
        if call.found is not None:
            yield from self._report(call.found)
        if call.error and call.error != self._error:
            yield self._make_event("disk_error", f"answers: {call.error}")
        self._error = call.error

    def _make_event(self, what: str, does: str, **fields: int) -> SourceEvent:
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
        if found.f_files:  # some file systems have no fixed number
            values["inodes_free"] = found.f_favail
        yield Sample(self.of, values)
        low = compute_low_threshold(size) * (
            2 if self._is_low else 1
        )  # reported once, until space is free again
        is_low = not read_only and free < low
        few_inodes = not read_only and found.f_files and found.f_favail < found.f_files // 100
        if (is_low or few_inodes) and not self._is_low:
            left = f"{free / 2**20:.0f} MiB" if is_low else f"{found.f_favail} inodes"
            fields = {"free_bytes": free, "size_bytes": size, "inodes_free": found.f_favail}
            yield self._make_event("disk_low", f"has {left} left", **fields)
        self._is_low = bool(is_low or few_inodes)
        if read_only and self._was_writable:
            yield self._make_event("disk_read_only", "became read-only")
        self._was_writable = not read_only


def compute_low_threshold(size_bytes: int) -> float:
    """Return the free bytes below which a file system of that size is nearly full."""
    return max(size_bytes / 100, min(_GIB, size_bytes / 10))


class _StatCall(threading.Thread):
    """One query of a file system, in a separate thread because it may hang."""

    def __init__(self, path: str) -> None:
        super().__init__(name=f"gpualert-disk-{path}", daemon=True)
        self._path = path
        self.real_path = ""
        self.found: os.statvfs_result | None = None
        self.error = ""
        self.start()

    def run(self) -> None:
        try:
            self.real_path = os.path.realpath(self._path)
            self.found = os.statvfs(self.real_path)
        except OSError as error:
            if error.errno not in _HARMLESS_ERRORS:
                self.error = error.strerror or str(error)
