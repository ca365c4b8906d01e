"""Start of the child, in a session of its own, with its log as stdout and stderr."""

from __future__ import annotations

import errno
import os
import subprocess

from gpualert_common.errors import UsageError
from gpualert_common.processes.marker import run_marker
from gpualert_common.spec import RunSpec

_EXEC_ERRORS = (
    errno.ENOENT,
    errno.EACCES,
    errno.EPERM,
    errno.ENOEXEC,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ETXTBSY,
    errno.ELIBBAD,
    errno.E2BIG,
    errno.EINVAL,
)
"""Errors of execve about the program; any other (no memory, no process) is one of the host."""


class Child(subprocess.Popen[bytes]):
    """A process whose status is taken by its pidfd, never by the garbage collector."""

    def __del__(self) -> None:
        """Neither warn nor wait, also where an exception of the caller interrupted the launch."""


class NotStartedError(Exception):
    """The program could not be executed.  ``number`` is the errno, ``text`` the explanation."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.number = number
        self.text = text


def check_spec(spec: RunSpec) -> None:
    """Check the spec before anything is made.  Raises UsageError."""
    if not spec.command:
        raise UsageError("no command: give one after --, as in: gpualert run -- python train.py")
    for argument in spec.command:
        _check_text("the command", argument)
    for name, value in (spec.env or {}).items():
        _check_text("an environment variable's name", name)
        _check_text(f"environment variable {name}", value)
        if not name or "=" in name:
            raise UsageError(f"{name!r} cannot be the name of an environment variable")
    if spec.cwd is not None and not os.path.isdir(spec.cwd):
        raise UsageError(f"working directory {spec.cwd!r} does not exist or is not a directory")


def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise UsageError(f"{what}: {text!r} is not text")
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise UsageError(f"{what}: {text!r} cannot be encoded: {error.reason}") from None
    if b"\0" in encoded:
        raise UsageError(
            f"{what}: {text!r} contains a NUL character, which no program can be given"
        )


def make_environment(spec: RunSpec, run_id: str) -> dict[bytes, bytes]:
    """Return the child's environment: its own, the run's id and marker, two Python defaults.

    Unbuffered output keeps the order of stdout and stderr and the last output of a killed process;
    the fault handler turns a native crash into a Python stack.  A value that is set stays.
    """
    if spec.env is None:
        env = os.environb.copy()
    else:
        env = {os.fsencode(name): os.fsencode(value) for name, value in spec.env.items()}
    env.setdefault(b"PYTHONUNBUFFERED", b"1")
    env.setdefault(b"PYTHONFAULTHANDLER", b"1")
    env[b"GPUALERT_RUN_ID"] = run_id.encode()
    env[run_marker(run_id).encode()] = b"1"
    return env


def spawn(
    spec: RunSpec, env: dict[bytes, bytes], out: int, err: int, *, own_process: bool
) -> Child:
    """Start the child with ``out`` and ``err`` as its stdout and stderr.

    In a process of our own every descriptor is closed by execve and none before: so the lock on the
    record is held until the marker can be seen.

    Raises NotStartedError when the program cannot be executed, UsageError when the working
    directory is gone, OSError when the host could not create a process.
    """
    try:
        return Child(
            spec.command,
            stdin=None if spec.inherit else subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=spec.cwd,
            env=env,
            close_fds=not own_process,
            start_new_session=True,
        )
    except OSError as error:
        if spec.cwd is not None and error.filename == spec.cwd:
            raise UsageError(f"working directory {spec.cwd!r}: {error.strerror}") from None
        if error.errno not in _EXEC_ERRORS:
            raise
        raise NotStartedError(error.errno, _explain(spec.command[0], error)) from None


def _explain(program: str, error: OSError) -> str:
    text = f"cannot execute {program!r}: {error.strerror}"
    if error.errno == errno.ENOENT:
        if os.sep in program and os.path.exists(program):
            return (
                f"{text}: it exists, but the interpreter of its first line or its loader does not"
            )
        return f"{text}: no such program" + ("" if os.sep in program else " on PATH")
    if error.errno == errno.ENOEXEC:
        return f"{text}: no #! line; run it through its interpreter, as in: sh {program}"
    if error.errno in (errno.EACCES, errno.EPERM):
        if os.path.isdir(program):
            return f"{text}: it is a directory"
        if os.path.isfile(program):
            return f"{text}: missing execute permission? chmod +x {program}"
    return text
