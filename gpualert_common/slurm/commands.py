"""Slurm's commands: started with a deadline, and read up to a limit.

Their output is independent of the settings of the user: no language, no formats from variables, and
times in seconds since the epoch.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping

from gpualert_common.errors import SlurmError

DEADLINE_S = 5.0
"""Seconds for one command; without its controller Slurm tries for 18 s."""
_MOST_BYTES = 1 << 20
_MOST_SAID_CHARS = 300
_USER_SETTINGS = ("SACCT_", "SQUEUE_", "SINFO_", "SCONTROL_", "SLURM_TIME_FORMAT", "LC_", "LANG")
"""Beginnings of the variables by which a user changes the output."""


def run_command(
    program: str,
    *arguments: str,
    deadline_s: float = DEADLINE_S,
    most_bytes: int = _MOST_BYTES,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Return the output of one of Slurm's commands.

    Raises SlurmError: the command is missing, fails, is late, or prints too much.
    """
    given = os.environ if environment is None else environment
    path = shutil.which(program, path=given.get("PATH"))
    if path is None:
        raise SlurmError(f"there is no {program} in PATH", is_missing=True)
    kept = {name: value for name, value in given.items() if not name.startswith(_USER_SETTINGS)}
    try:
        started = subprocess.Popen(
            (os.path.abspath(path), *arguments),
            cwd="/",  # that of the run may be removed, or on a file system that hangs
            env={**kept, "LC_ALL": "C", "SLURM_TIME_FORMAT": "%s"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise SlurmError(f"{program} could not be started: {error}") from None
    try:
        output, said = _read(started, time.monotonic() + deadline_s, most_bytes)
        code = started.wait(deadline_s)
    except (TimeoutError, subprocess.TimeoutExpired):
        problem = f"{program} gave no answer within {deadline_s:g} s"
        raise SlurmError(problem, is_late=True) from None
    finally:
        _end(started)
    if len(output) > most_bytes:
        raise SlurmError(f"{program} printed more than {most_bytes} bytes")
    if code:
        words = " ".join(said.split())[:_MOST_SAID_CHARS] or f"exit status {code}"
        raise SlurmError(f"{program} failed: {words}", said=words)
    return output


def _read(started: subprocess.Popen[bytes], deadline: float, most_bytes: int) -> tuple[str, str]:
    """Return the outputs of a command, each to its end or just over the limit.

    Raises TimeoutError.
    """
    pipes = [pipe for pipe in (started.stdout, started.stderr) if pipe is not None]
    parts = {pipe.fileno(): bytearray() for pipe in pipes}
    poll = select.poll()
    for fd in parts:
        poll.register(fd, select.POLLIN)
    left = set(parts)
    while left:
        ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        if not ready:
            raise TimeoutError
        for fd, _events in ready:
            data = os.read(fd, 65536)
            parts[fd] += data
            if not data:
                poll.unregister(fd)
                left.discard(fd)
            if len(parts[fd]) > most_bytes:
                started.kill()
                left.clear()
    output, said = (bytes(one).decode("utf-8", "replace") for one in parts.values())
    return output, said


def _end(started: subprocess.Popen[bytes]) -> None:
    """End a command and what it started; one that the kernel does not end is left behind."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(started.pid, signal.SIGKILL)
    for pipe in (started.stdout, started.stderr):
        if pipe is not None:
            pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        started.wait(1.0)
