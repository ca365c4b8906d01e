"""Starts a sender beside its caller and waits for it, never longer than a deadline."""

from __future__ import annotations

import os
import select
import sys

from gpualert_common.errors import GPUAlertError
from gpualert_common.notify.decide import SEND
from gpualert_common.notify.outbox import PENDING, Entry, bring_up_to_date
from gpualert_common.notify.targets import is_any_left
from gpualert_common.record.directory import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gpualert_common.record import Record

LOG = "sender.log"

PATIENCE_S = 3600.0
"""How long a sender goes on by itself: longer than a restart of a mail server, or grey-listing."""


def dispatch(
    record: Record,
    *,
    secrets: Mapping[str, Mapping[str, str]] | None = None,
    others: Sequence[Mapping[str, Any]] = (),
    now: bool = False,
    again: bool = False,
    deadline_s: float | None = None,
    patience_s: float = PATIENCE_S,
) -> list[Entry]:
    """Have the alerts of a run that has ended sent, and wait for that until the deadline.

    Arguments as for :func:`.deliver.deliver`; ``deadline_s`` None is what the record says.  The
    entries as they stand when it returns: what is open then, the sender goes on with by itself.
    Without an alert to send nothing is started, unless earlier runs left one behind.  Raises
    nothing of ours, and is bounded by the deadline whatever the sender does.
    """
    try:
        step, entries = bring_up_to_date(record, others, now=now)
        own = step.kind == SEND and (again or any(entry.state == PENDING for entry in entries))
        if not own and not is_any_left(record.path):
            return entries
        if deadline_s is None:
            deadline_s = float((record.spec.get("alerts") or {}).get("deadline_s") or 0.0)
        request = {"record": record.path, "patience_s": patience_s, "own": own}
        request |= {"secrets": secrets or {}, "others": list(others), "now": now, "again": again}
        done = _start(request)
        try:
            if own:
                _await(done, deadline_s)
        finally:
            os.close(done)
        return bring_up_to_date(record)[1]
    except (GPUAlertError, OSError, ValueError, KeyError, TypeError):
        return []  # a record that was damaged, a host without room for a process: nothing is lost


def become_sender(
    record: Record, secrets: Mapping[str, Mapping[str, str]] | None, *, keep: int
) -> None:
    """Turn this process, which has nothing else to do, into the sender.  Raises OSError.

    The descriptor ``keep`` stays open.
    """
    if keep >= 0:
        os.set_inheritable(keep, True)
    request = {"record": record.path, "patience_s": PATIENCE_S, "own": True, "done_fd": -1}
    request |= {"secrets": secrets or {}, "others": [], "now": False, "again": False}
    stdin = _as_file(request)
    os.dup2(stdin, 0)
    command = _command()
    os.execv(command[0], command)


def _start(request: dict[str, Any]) -> int:
    """Start a sender that is nobody's child; a descriptor that ends when it is done with it."""
    import subprocess

    reading, writing = os.pipe2(os.O_CLOEXEC)
    log = _open_log(request["record"])
    try:
        stdin = _as_file({**request, "done_fd": writing})
        try:
            started = subprocess.Popen(
                _command(),
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd="/",
                start_new_session=True,
                pass_fds=(writing,),
            )
        finally:
            os.close(stdin)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
        os.close(log)
    started.wait()  # it forks at once, and what we started ends
    return reading


def _open_log(record_path: str) -> int:
    """Where the sender leaves its last words, if it has any."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(os.path.join(record_path, LOG), flags, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)


def _as_file(request: dict[str, Any]) -> int:
    """The request as a file that is in no folder: it holds secrets."""
    import json

    fd = os.memfd_create("gpualert", os.MFD_CLOEXEC)
    write_all(fd, json.dumps({**request, "sys_path": _sys_path()}).encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _command() -> list[str]:
    from gpualert_common.notify import process

    return [sys.executable or "python3", "-I", str(process.__file__)]


def _sys_path() -> list[str]:
    return [entry for entry in sys.path if os.path.isabs(entry)]


def _await(fd: int, deadline_s: float) -> None:
    poll = select.poll()
    poll.register(fd, 0)  # nothing is ever written; POLLHUP comes of itself
    poll.poll(max(0.0, deadline_s) * 1000)
