"""Preparation of the traces of a run: its socket and its daemon, before the launch.

The child waits for this, so that it imports little, and does not wait for the daemon's Python: the
socket is bound here, and keeps what processes ask until the daemon reads it.
"""

from __future__ import annotations

import os

from gpualert_common.kineto.socket_directory import (
    bind_socket,
    is_socket_directory,
    make_socket_directory,
    remove_socket_directory,
)
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.program import start_program
from gpualert_common.spec import SCHEMA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

    from gpualert_common.record import Record

TRACING = "tracing.json"
"""File of the record: the ``directory`` of the socket, or the ``problem`` that prevents traces."""
TRACES = "traces"
"""Folder of the record, with one folder for each trace."""
LOCK = ".tracing"
"""Lock file of the record, held by the daemon while it lives."""
_DAEMON = "gpualert_common.kineto.daemon"
_USE = b"KINETO_USE_DAEMON"
_DIRECTORY = b"KINETO_IPC_SOCKET_DIR"
_LOG_LEVEL = b"KINETO_LOG_LEVEL"
_TRACE_DIRECTORY = b"KINETO_ONDEMAND_TRACE_DIR"
_CONFIGURATION_CHARACTERS = "#=\n\r"
"""Kineto's parser of configurations takes them for a comment, a value, and the end of a line."""
_SILENT = b"5"
"""Above ERROR.  Otherwise Kineto prints a line at each start, and errors if its daemon dies."""

_daemons: list[Popen[bytes]] = []
"""Daemons of this process's runs; one that has exited is reaped with the next one."""


class TracingDaemon:
    """The daemon of a run that is about to be launched; it ends unless :meth:`watch` is called."""

    __slots__ = ("_lifeline", "pid")

    def __init__(self, pid: int, lifeline: int) -> None:
        self.pid = pid
        self._lifeline = lifeline

    def watch(self, leader: int) -> None:
        """Have the daemon stay as long as processes of the run live."""
        try:
            os.write(self._lifeline, b"%d\n" % leader)
        except OSError:
            pass  # it has died, and is started again
        self.close()

    def close(self) -> None:
        """Close the pipe to the daemon."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1


def start_tracing(record: Record, environment: dict[bytes, bytes]) -> TracingDaemon | None:
    """Start the daemon of a run, and add to its environment what makes PyTorch ask it.

    Where that fails, the record has the reason, nothing is added, and None is returned: a run is
    launched without traces rather than not at all.
    """
    problem = _find_conflict(environment) or _find_unusable(record.path)
    directory, daemon = "", None
    if not problem:
        try:
            directory = make_socket_directory(environment)
            os.mkdir(os.path.join(record.path, TRACES), 0o700)
            daemon = _start_daemon(record, directory)
        except OSError as error:
            problem = f"no socket for PyTorch: {error.strerror or error}"
    try:
        fields = {"schema": SCHEMA, "directory": directory, "problem": problem}
        record.write_json(TRACING, fields)
    except OSError:
        pass  # on a full disk no trace could be stored either
    if daemon is None:
        remove_socket_directory(directory)
        return None
    environment[_USE] = b"1"
    environment[_DIRECTORY] = os.fsencode(directory)
    environment[_TRACE_DIRECTORY] = os.fsencode(os.path.join(record.path, TRACES))
    environment.setdefault(_LOG_LEVEL, _SILENT)
    return daemon


def restart_daemon(record: Record) -> Popen[bytes]:
    """Start a daemon in place of one that died.  Raises OSError, RecordError."""
    fields = record.read_json(TRACING) or {}
    directory = fields.get("directory")
    if not isinstance(directory, str) or not is_socket_directory(directory):
        raise OSError(None, "the run has no socket for PyTorch")
    marker = run_marker(record.run_id)
    return start_program(
        _DAEMON, record.path, marker, directory, helper_of=record.run_id, is_long_lived=True
    )


def remove_left_sockets(record: Record) -> None:
    """Remove the directory of a run whose daemon was killed.  Raises RecordError."""
    fields = record.read_json(TRACING) or {}
    directory = fields.get("directory")
    if isinstance(directory, str) and is_socket_directory(directory):
        remove_socket_directory(directory)


def _find_conflict(environment: dict[bytes, bytes]) -> str:
    """Return the reason to leave the variables as they are; "" also where another run set them."""
    directory = os.fsdecode(environment.get(_DIRECTORY, b""))
    if is_socket_directory(directory):
        return ""
    names = [one.decode() for one in (_USE, _DIRECTORY) if environment.get(one)]
    return f"{' and '.join(names)} was set before: PyTorch asks another daemon" if names else ""


def _find_unusable(path: str) -> str:
    """Return the reason for which Kineto cannot write to a path; "" for none."""
    found = [one for one in _CONFIGURATION_CHARACTERS if one in path]
    if not found:
        return ""
    return f"Kineto cannot read the path of the record, which has {found[0]!r}: {path!r}"


def _start_daemon(record: Record, directory: str) -> TracingDaemon:
    _daemons[:] = [one for one in _daemons if one.poll() is None]
    bound = bind_socket(directory)
    reading, writing = os.pipe2(os.O_CLOEXEC)
    try:
        started = start_program(
            _DAEMON,
            record.path,
            run_marker(record.run_id),
            directory,
            str(bound.fileno()),
            helper_of=record.run_id,
            stdin=reading,
            pass_fds=(bound.fileno(),),
            is_long_lived=True,
        )
    except OSError:
        os.close(writing)
        raise
    finally:
        os.close(reading)
        bound.close()
    _daemons.append(started)
    return TracingDaemon(started.pid, writing)
