"""Runs a function in a separate process, and returns its answer or reports that there is none.

A template may loop, a channel may call ``os._exit``, a disk may put its reader into an
uninterruptible sleep.  None of that may stop the sender, so such code is forked, watched and
killed.
"""

from __future__ import annotations

import os
import pickle
import resource
import select
import signal
import time
from collections.abc import Callable
from typing import Any, TypeVar

Answer = TypeVar("Answer")

MOST_MEMORY_BYTES = 4 << 30
"""Limit of address space: some hundred times the need of the largest message."""
_CPU_MARGIN_S = 5
_KILLING_S = 2.0
_LENGTH_BYTES = 8


class NoAnswerError(Exception):
    """The process exited, or was killed, without an answer; the text has the reason."""


def run_isolated(function: Callable[[], Answer], deadline_s: float) -> Answer:
    """Run ``function`` in a forked process with its own group, and return or raise its result.

    Both must pickle.  Raises NoAnswerError when the process dies (``os._exit``, a crash, memory) or
    has no answer within ``deadline_s``; its group is then killed and, if the kernel does not let go
    of it, left behind.  To be called where no other thread runs.
    """
    reading, writing = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _compute(function, writing, deadline_s)
    os.close(writing)
    try:
        data, in_time = _read(reading, time.monotonic() + deadline_s)
    finally:
        os.close(reading)
    if not in_time:
        _kill(pid)
        raise NoAnswerError(f"no answer within {deadline_s:g} s; given up")
    _pid, status = os.waitpid(pid, 0)
    if not data:
        raise NoAnswerError(_death(status))
    failed, value = pickle.loads(data)
    if failed:
        raise value
    answer: Answer = value
    return answer


def _compute(function: Callable[[], Any], writing: int, deadline_s: float) -> None:
    """Never returns, and never runs the remaining code of the parent."""
    try:
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_AS, MOST_MEMORY_BYTES)
        _limit(resource.RLIMIT_CPU, int(deadline_s) + _CPU_MARGIN_S)
        try:
            answer = (False, function())
        except BaseException as error:  # noqa: BLE001 - SystemExit too is an answer here
            answer = (True, _picklable(error))
        with open(writing, "wb") as pipe:
            data = pickle.dumps(answer)
            pipe.write(len(data).to_bytes(_LENGTH_BYTES) + data)
        os._exit(0)
    finally:
        os._exit(1)


def _kill(pid: int) -> None:
    """Kill and reap it; a process in uninterruptible sleep is left behind."""
    poll = select.poll()
    pidfd = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        try:
            os.killpg(pid, signal.SIGKILL)
        except OSError:
            pass  # it had not made a group yet, or no other process is in it
        poll.register(pidfd, select.POLLIN)
        poll.poll(_KILLING_S * 1000)
    finally:
        os.close(pidfd)
    os.waitpid(pid, os.WNOHANG)


def lift_limits() -> None:
    """Undo the limits of :func:`run_isolated`, for a program that is about to start."""
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (hard, hard))


def _limit(kind: int, most: int) -> None:
    _soft, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(kind, (most, hard))


def _picklable(error: BaseException) -> BaseException:
    try:
        again = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - an exception of a user's module may fail to pickle in any way
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error if type(again) is type(error) else RuntimeError(repr(error))


def _read(fd: int, deadline: float) -> tuple[bytes, bool]:
    """The answer, empty when the pipe ended before it, and whether that came in time.

    It starts with its length: a child of the process may hold the pipe open forever.
    """
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    data = bytearray()
    while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        chunk = os.read(fd, 1 << 20)
        data += chunk
        end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES])
        if len(data) >= _LENGTH_BYTES and len(data) >= end:
            return bytes(data[_LENGTH_BYTES:end]), True
        if not chunk:
            return b"", True
    return b"", False


def _death(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"its process was killed by signal {-code}"
    return f"its process exited with status {code} without an answer"
