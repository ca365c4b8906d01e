"""Output of a process that gpualert did not start: the files that its stdout and stderr are.

The kernel names them by ``/proc/PID/fd``.  They are opened by that, so no path is followed, and a
deleted file can be read, too.  A pipe, a terminal or a socket is never opened.
"""

from __future__ import annotations

import os
import stat

from gpualert_common.agent.foreign_process import ForeignProcess
from gpualert_common.launch_record import LogName, Streams
from gpualert_common.structs import Struct

_STDOUT, _STDERR = 1, 2
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISBLK, "a disk"),
)
_TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")


class UnreadOutputError(Exception):
    """The output of a process cannot be read; the text is the reason."""


class OutputFile(Struct, frozen=True):
    """A file that a process writes to: its log in the record, an open descriptor, and its path."""

    log: LogName
    fd: int
    path: str


class Outputs(Struct, frozen=True):
    """The files of a process's output, one for each log; or the reason why there is none."""

    files: tuple[OutputFile, ...] = ()
    problem: str | None = None

    @property
    def streams(self) -> Streams:
        """The streams of the record that has these files as its logs."""
        return "apart" if len(self.files) > 1 else "merged"


def open_outputs(process: ForeignProcess) -> Outputs:
    """Return the files that stdout and stderr of a process are; one, if both are the same."""
    found: list[tuple[int, str]] = []
    problems = []
    for number, name in ((_STDOUT, "stdout"), (_STDERR, "stderr")):
        path = f"/proc/{process.pid}/fd/{number}"
        try:
            found.append((open_regular(path, process), _read_link(path)))
        except UnreadOutputError as error:
            problems.append(f"its {name} is {error}")
    if not found:
        return Outputs(problem="; ".join(dict.fromkeys(problems)))
    if len(found) == 2 and os.path.samestat(os.fstat(found[0][0]), os.fstat(found[1][0])):
        os.close(found.pop()[0])
    names: tuple[LogName, ...] = ("stdout.log", "stderr.log")
    logs = names if len(found) == 2 else ("output.log",)
    return Outputs(tuple(OutputFile(log, *one) for log, one in zip(logs, found, strict=True)))


def open_log(path: str, process: ForeignProcess) -> Outputs:
    """Return the file at *path* as the only output.  Raises UnreadOutputError."""
    return Outputs((OutputFile("output.log", open_regular(path, process), path),))


def open_regular(path: str, process: ForeignProcess) -> int:
    """Return a descriptor that reads a regular file which the process may read, too.

    Root must not copy for a user what that user may not read.  Raises UnreadOutputError.
    """
    try:
        pinned = os.open(path, os.O_PATH | os.O_CLOEXEC)  # has no effect on a pipe or a device
    except OSError as error:
        raise UnreadOutputError(f"not readable: {error.strerror}") from None
    try:
        status = os.fstat(pinned)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadOutputError(_describe_kind(status, _read_link(f"/proc/self/fd/{pinned}")))
        if not may_read(status, process):
            raise UnreadOutputError("a file that the user of the process may not read")
        return os.open(f"/proc/self/fd/{pinned}", _FLAGS)
    except OSError as error:
        raise UnreadOutputError(f"not readable: {error.strerror}") from None
    finally:
        os.close(pinned)


def may_read(status: os.stat_result, process: ForeignProcess) -> bool:
    """Return True if the permissions of a file let the user of the process read it."""
    if process.uid == 0:
        return True
    if status.st_uid == process.uid:
        return bool(status.st_mode & stat.S_IRUSR)
    if status.st_gid in process.groups:
        return bool(status.st_mode & stat.S_IRGRP)
    return bool(status.st_mode & stat.S_IROTH)


def _describe_kind(status: os.stat_result, path: str) -> str:
    for is_kind, name in _KINDS:
        if is_kind(status.st_mode):
            return name
    if path == os.devnull:
        return os.devnull
    return "a terminal" if path.startswith(_TERMINALS) else "a device"


def _read_link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return path
