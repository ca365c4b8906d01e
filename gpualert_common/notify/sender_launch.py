"""Starts a sender and waits for it, never longer than a deadline.

The caller may be a supervisor whose disk is frozen: this module uses the disk only to execute the
sender, which itself finds the alerts that are due.
"""

from __future__ import annotations

import os
import select
import time

from gpualert_common.processes.bootstrap import import_path
from gpualert_common.processes.program import program_command, start_program
from gpualert_common.record.files import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from subprocess import Popen
    from typing import Any

    from gpualert_common.launch_record import ChannelConfig
    from gpualert_common.notify.entry import EntryFields

    Secrets = Mapping[str, Mapping[str, str]]

RETRY_FOR_S = 3600.0
"""Time in which a sender retries: longer than a restart of a mail server, or grey-listing."""
WARNING_RETRY_S = 600.0
"""Limit for a warning; afterwards `gpualert show` and the alert about the end have it."""
VERDICT_SHARE = 0.5
"""Part of the deadline for alerts that they wait for a late verdict; the rest is for sending."""
_CHECK_S = 0.25
_SENDER = "gpualert_common.notify.sender"

_senders: list[Popen[bytes]] = []
"""Starter processes, which fork at once and exit; each is reaped with the next one."""


def dispatch(
    record_path: str,
    *,
    secrets: Secrets | None = None,
    extra_channels: Sequence[ChannelConfig] = (),
    send_now: bool = False,
    retry_failed: bool = False,
    own: bool = True,
    deadline_s: float,
    verdict_within_s: float | None = None,
    retry_for_s: float = RETRY_FOR_S,
    check: Callable[[], None] = lambda: None,
) -> list[EntryFields]:
    """Send the alerts of a run that has ended, and wait for that until the deadline.

    Returns the fields of each alert; the sender goes on by itself with those that are open then.
    Arguments as for :func:`.record_delivery.deliver`; ``own`` False only sends what other runs left
    behind.  ``verdict_within_s`` limits the wait for a late verdict; None means a share of the
    deadline.  ``check`` is called while it waits, and may raise to end that.  Raises nothing of
    ours.
    """
    if verdict_within_s is None:
        verdict_within_s = deadline_s * VERDICT_SHARE
    request = {
        "record": record_path,
        "retry_for_s": retry_for_s,
        "verdict_within_s": verdict_within_s,
        "own": own,
        "secrets": secrets or {},
        "extra_channels": [dict(channel) for channel in extra_channels],
        "send_now": send_now,
        "retry_failed": retry_failed,
    }
    try:
        status_fd = _start(request)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is None:
            raise  # an engine's time-out may be a TimeoutError
        return []  # no process or descriptor available: later runs find the alerts that are due
    try:
        return _await(status_fd, deadline_s, check)
    finally:
        os.close(status_fd)
        _reap()


def become_sender(
    record_path: str, secrets: Secrets | None, *, keep: int, verdict_within_s: float
) -> None:
    """Turn this process, which has nothing else to do, into the sender.  Raises OSError.

    The descriptor ``keep`` stays open.
    """
    if keep >= 0:
        os.set_inheritable(keep, True)
    request = {"record": record_path, "retry_for_s": RETRY_FOR_S, "own": True, "done_fd": -1}
    request |= {"secrets": secrets or {}, "extra_channels": []}
    request |= {"verdict_within_s": verdict_within_s}
    request |= {"send_now": False, "retry_failed": False}
    os.dup2(_as_file(request), 0)
    command = program_command(_SENDER)
    os.execv(command[0], command)


def send_warnings(record_path: str, secrets: Secrets | None) -> None:
    """Send the warnings about a live run; returns at once.

    Raises nothing of ours.
    """
    request = {"record": record_path, "retry_for_s": WARNING_RETRY_S, "own": True, "early": True}
    request |= {"secrets": secrets or {}, "done_fd": -1}
    try:
        start_detached(_SENDER, request, helper_of=os.path.basename(record_path))
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is None:
            raise  # an engine's time-out may be a TimeoutError


def start_freeze(record_path: str) -> None:
    """Start the process that freezes the files of a run that has ended.  Raises OSError."""
    program = "gpualert_common.artifacts.freeze_program"
    start_detached(program, {"record": record_path}, helper_of=os.path.basename(record_path))


def start_detached(
    program: str,
    request: Mapping[str, Any],
    *,
    pass_fds: Sequence[int] = (),
    helper_of: str | None = None,
) -> None:
    """Start a program that reads this request from its stdin and outlives us.  Raises OSError.

    Arguments as for :func:`.start_program`.
    """
    _reap()
    stdin = _as_file(request)
    try:
        started = start_program(program, stdin=stdin, pass_fds=pass_fds, helper_of=helper_of)
        _senders.append(started)
    finally:
        os.close(stdin)


def _start(request: dict[str, Any]) -> int:
    """Start a sender; return a descriptor with the states of the alerts, closed when it is done."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    try:
        start_detached(_SENDER, {**request, "done_fd": writing}, pass_fds=[writing])
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return reading


def _reap() -> None:
    _senders[:] = [sender for sender in _senders if sender.poll() is None]


def _as_file(request: Mapping[str, Any]) -> int:
    """Return the request as a file without a name: it holds secrets."""
    import json

    fd = os.memfd_create("gpualert", os.MFD_CLOEXEC)
    write_all(fd, json.dumps({**request, "sys_path": import_path()}).encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _await(fd: int, deadline_s: float, check: Callable[[], None]) -> list[EntryFields]:
    """Return the last states that the sender reported before it ended, or the deadline passed."""
    import json

    deadline = time.monotonic() + deadline_s
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    received = b""
    while (left_s := deadline - time.monotonic()) > 0:
        check()
        if not poll.poll(min(left_s, _CHECK_S) * 1000):
            continue
        data = os.read(fd, 1 << 16)
        if not data:
            break
        received += data
    lines = received.split(b"\n")[:-1]
    found: list[EntryFields] = json.loads(lines[-1]) if lines else []
    return found
