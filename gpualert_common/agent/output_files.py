"""Output of a process that gpualert did not start: the files that its stdout and stderr are.

The kernel names them by ``/proc/PID/fd``.  They are opened by that, so no path is followed, and a
deleted file can be read, too.  A pipe, a terminal or a socket is never opened.
"""

from __future__ import annotations

import os

from gpualert_common.agent.foreign_process import ForeignProcess
from gpualert_common.launch_record import LogName, Streams
from gpualert_common.processes.user_files import UnreadableFileError, open_regular
from gpualert_common.structs import Struct

_STDOUT, _STDERR = 1, 2


class OutputFile(Struct, frozen=True):
    """A file that a process writes to: its log in the record, an open descriptor, and its path."""

    log: LogName
    fd: int
    path: str


class Outputs(Struct, frozen=True):
    """The files of a process's output, one for each log; or the reason why there is none.

    ``of`` are number and start of the process.
    """

    files: tuple[OutputFile, ...] = ()
    problem: str | None = None
    of: tuple[int, int] | None = None

    @property
    def streams(self) -> Streams:
        """The streams of the record that has these files as its logs."""
        return "apart" if len(self.files) > 1 else "merged"

    def close(self) -> None:
        """Close the files."""
        for file in self.files:
            os.close(file.fd)


def open_outputs(process: ForeignProcess) -> Outputs:
    """Return the files that stdout and stderr of a process are; one, if both are the same.

    Root must not copy for a user what that user may not read.
    """
    found: list[tuple[int, str]] = []
    problems = []
    for number, name in ((_STDOUT, "stdout"), (_STDERR, "stderr")):
        path = f"/proc/{process.pid}/fd/{number}"
        try:
            found.append((open_regular(path, process.user), _read_link(path)))
        except UnreadableFileError as error:
            problems.append(f"its {name} is {error}")
    if not found:
        return Outputs(problem="; ".join(dict.fromkeys(problems)))
    if len(found) == 2 and os.path.samestat(os.fstat(found[0][0]), os.fstat(found[1][0])):
        os.close(found.pop()[0])
    names: tuple[LogName, ...] = ("stdout.log", "stderr.log")
    logs = names if len(found) == 2 else ("output.log",)
    files = tuple(OutputFile(log, *one) for log, one in zip(logs, found, strict=True))
    return Outputs(files, of=(process.pid, process.start_ticks))


def open_log(path: str, process: ForeignProcess) -> Outputs:
    """Return the file at *path* as the only output.  Raises UnreadableFileError."""
    return Outputs((OutputFile("output.log", open_regular(path, process.user), path),))


def _read_link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return path
