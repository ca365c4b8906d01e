"""Starts a sender beside its caller and waits for it, never longer than a deadline.

The caller may be a supervisor whose disk is frozen: in here no disk is touched but to execute the
sender.  What is due, the sender finds out.
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

    Secrets = Mapping[str, Mapping[str, str]]

PATIENCE_S = 3600.0
"""How long a sender goes on by itself: longer than a restart of a mail server, or grey-listing."""
WARNING_PATIENCE_S = 600.0
"""What comes later than that is told by `gpualert show`, and at the end."""
_CHECK_S = 0.25
_SENDER = "gpualert_common.notify.sender"

_senders: list[Popen[bytes]] = []
"""Each forks at once and ends; reaped when we come by again, since nobody waits for that."""


def dispatch(
    record_path: str,
    *,
    secrets: Secrets | None = None,
    others: Sequence[Mapping[str, Any]] = (),
    now: bool = False,
    again: bool = False,
    own: bool = True,
    deadline_s: float,
    patience_s: float = PATIENCE_S,
    check: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    """Have the alerts of a run that has ended sent, and wait for that until the deadline.

    Arguments as for :func:`.deliver.deliver`.  The fields of each alert as they stand when it
    returns: what is open then, the sender goes on with by itself.  ``own`` False only sends what
    other runs left behind.  ``check`` is called while it waits, and may raise to end that.
    Raises nothing of ours.
    """
    request = {
        "record": record_path,
        "patience_s": patience_s,
        "own": own,
        "secrets": secrets or {},
        "others": [dict(channel) for channel in others],
        "now": now,
        "again": again,
    }
    try:
        told = _start(request)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is None:
            raise  # an engine's time-out may be a TimeoutError
        return []  # no room for a process, or for a descriptor: later runs find what is due
    try:
        return _await(told, deadline_s, check)
    finally:
        os.close(told)
        _reap()


def become_sender(record_path: str, secrets: Secrets | None, *, keep: int) -> None:
    """Turn this process, which has nothing else to do, into the sender.  Raises OSError.

    The descriptor ``keep`` stays open.
    """
    if keep >= 0:
        os.set_inheritable(keep, True)
    request = {"record": record_path, "patience_s": PATIENCE_S, "own": True, "done_fd": -1}
    request |= {"secrets": secrets or {}, "others": [], "now": False, "again": False}
    os.dup2(_as_file(request), 0)
    command = program_command(_SENDER)
    os.execv(command[0], command)


def send_warnings(record_path: str, secrets: Secrets | None) -> None:
    """Have people warned of what a run that goes on has come to; returns at once.

    Raises nothing of ours.
    """
    request = {"record": record_path, "patience_s": WARNING_PATIENCE_S, "own": True, "early": True}
    request |= {"secrets": secrets or {}, "done_fd": -1}
    _reap()
    try:
        stdin = _as_file(request)
        try:
            run_id = os.path.basename(record_path)
            _senders.append(start_program(_SENDER, helper_of=run_id, stdin=stdin))
        finally:
            os.close(stdin)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is None:
            raise  # an engine's time-out may be a TimeoutError


def _start(request: dict[str, Any]) -> int:
    """Start a sender; a descriptor that tells how the alerts stand, and ends when it is done."""
    _reap()
    reading, writing = os.pipe2(os.O_CLOEXEC)
    try:
        stdin = _as_file({**request, "done_fd": writing})
        try:
            _senders.append(start_program(_SENDER, stdin=stdin, pass_fds=[writing]))
        finally:
            os.close(stdin)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return reading


def _reap() -> None:
    _senders[:] = [sender for sender in _senders if sender.poll() is None]


def _as_file(request: dict[str, Any]) -> int:
    """The request as a file that is in no folder: it holds secrets."""
    import json

    fd = os.memfd_create("gpualert", os.MFD_CLOEXEC)
    write_all(fd, json.dumps({**request, "sys_path": import_path()}).encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _await(fd: int, deadline_s: float, check: Callable[[], None]) -> list[dict[str, Any]]:
    """What the sender said last, once it is done or the deadline is over."""
    import json

    deadline = time.monotonic() + deadline_s
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    said = b""
    while (left_s := deadline - time.monotonic()) > 0:
        check()
        if not poll.poll(min(left_s, _CHECK_S) * 1000):
            continue
        data = os.read(fd, 1 << 16)
        if not data:
            break
        said += data
    lines = said.split(b"\n")[:-1]
    found: list[dict[str, Any]] = json.loads(lines[-1]) if lines else []
    return found
