"""Processes that send the alerts of a record: one for each channel, all at the same time."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress

from gpualert_common.notify.delivery import ATTEMPT_S, deliver_entry
from gpualert_common.notify.entry import EntryState, OutboxEntry
from gpualert_common.processes.descendants import kill_descendants
from gpualert_common.record import Record

Secrets = Mapping[str, Mapping[str, str]]
"""Secrets that the user passed directly, by channel and setting."""

MARGIN_S = 2 * ATTEMPT_S
"""After ``retry_for_s`` a process may still be in an attempt; later the kernel ends it."""
_POLL_S = 0.05
_KILLING_S = 2.0


def send_all(
    record: Record,
    entries: Iterable[OutboxEntry],
    secrets: Secrets,
    retry_for_s: float,
    private_fds: Iterable[int] = (),
) -> Generator[None]:
    """Send them all at the same time; yields again and again until that is done.

    To close it ends the attempts.  ``private_fds`` are descriptors of the caller that its children
    do not keep.
    """
    closed = tuple(private_fds)
    senders = {
        _fork_sender(record, entry, secrets.get(entry.channel, {}), retry_for_s, closed)
        for entry in entries
    }
    try:
        yield
        while senders:
            senders = {pid for pid in senders if os.waitpid(pid, os.WNOHANG)[0] == 0}
            time.sleep(_POLL_S if senders else 0.0)
            yield
    finally:
        for pid in senders:
            _end(pid)


def _fork_sender(
    record: Record,
    entry: OutboxEntry,
    given: Mapping[str, str],
    retry_for_s: float,
    closed: Iterable[int],
) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            for fd in closed:
                os.close(fd)
            signal.setitimer(signal.ITIMER_REAL, retry_for_s + MARGIN_S)
            if entry.lock(retry_for_s) and entry.state is EntryState.PENDING:
                deliver_entry(record, entry, given, retry_for_s=retry_for_s)
        finally:
            os._exit(0)
    return pid


def _end(pid: int) -> None:
    """Kill a sender with its attempt; one that a disk holds is left behind."""
    with suppress(OSError):
        kill_descendants(pid)
    deadline = time.monotonic() + _KILLING_S
    while os.waitpid(pid, os.WNOHANG)[0] == 0 and time.monotonic() < deadline:
        time.sleep(_POLL_S)
