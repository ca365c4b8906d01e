"""The sender: a process that delivers a record's alerts and outlives its starter.

A program (:mod:`gpualert_common.processes.program`).  Its stdin is one JSON object: the record,
secrets that the user passed directly, and how long to retry.  The kernel kills it, and each process
that it forks, some time after that, even if it hangs.

Into ``done_fd`` it writes the states of the alerts, one JSON array a line, when one changes, and
closes it when the record's own are done or left for later: so a waiting process needs no disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys

from gpualert_common.processes.bootstrap import extend_import_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpualert_common.notify.entry import OutboxEntry
    from gpualert_common.record import Record

LOG = "sender.log"
_OTHERS_S = 5.0
"""Limit for alerts that other runs left: one or two attempts each."""


class _StatusPipe:
    """Reports the states of the alerts to a process that may wait for them."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._last = b""
        if fd >= 0:
            os.set_blocking(fd, False)

    def write(self, entries: list[OutboxEntry]) -> None:
        line = json.dumps([entry.fields for entry in entries]).encode() + b"\n"
        if self._fd >= 0 and line != self._last:
            self._last = line
            try:
                os.write(self._fd, line)
            except OSError:
                self.close()  # no process waits or reads any more

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def main() -> None:
    """Serve one request; exits, never returns."""
    request = json.load(sys.stdin)
    if request["done_fd"] >= 0 and os.fork():
        os._exit(0)  # the sender has no parent: an engine may kill the children of its task
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    extend_import_path(request["sys_path"])
    from gpualert_common.notify.alert_processes import MARGIN_S
    from gpualert_common.record import Record

    signal.setitimer(signal.ITIMER_REAL, float(request["retry_for_s"]) + MARGIN_S)
    record = Record.open(request["record"])
    _redirect_stderr(record)
    try:
        _serve(record, request)
    except BaseException as error:
        _record_crash(record, error)
        raise  # its traceback is in its log
    os._exit(0)


def _serve(record: Record, request: dict[str, Any]) -> None:
    from gpualert_common.notify.record_delivery import (
        deliver,
        deliver_open_alerts,
        deliver_warnings,
    )
    from gpualert_common.record.marks import UNPUBLISHED, find_state_dir

    retry_for_s = float(request["retry_for_s"])
    if request.get("early"):
        deliver_warnings(record, secrets=request["secrets"], retry_for_s=retry_for_s)
        return
    status = _StatusPipe(request["done_fd"])
    if request["own"]:
        _freeze_artifacts(record)
        deliver(
            record,
            secrets=request["secrets"],
            extra_channels=request["extra_channels"],
            send_now=request["send_now"],
            retry_failed=request["retry_failed"],
            verdict_within_s=float(request["verdict_within_s"]),
            retry_for_s=retry_for_s,
            on_progress=status.write,
        )
    status.close()
    if retry_for_s > 0:
        deliver_open_alerts(record.path, retry_for_s=_OTHERS_S)
        place = find_state_dir(record.path)
        if UNPUBLISHED.list_records(place):
            from gpualert_common.jobs.renewal.publication import publish_left  # most runs need none

            publish_left([place])


def _freeze_artifacts(record: Record) -> None:
    """Start to freeze the run's files for later attempts, unless that was done at its end.

    A run that people are not notified of costs nothing.
    """
    from gpualert_common.artifacts.freeze import FREEZE
    from gpualert_common.notify.reconciliation import preview
    from gpualert_common.notify.schedule import AlertAction
    from gpualert_common.notify.sender_launch import start_freeze

    if not record.has(FREEZE) and preview(record)[0].action is not AlertAction.SKIP:
        with contextlib.suppress(OSError):  # the times of the files decide
            start_freeze(record.path)


def _redirect_stderr(record: Record) -> None:
    """Send our stderr to a log in the record, unless a guardian's log has it already."""
    from gpualert_common.record.files import OPEN_FLAGS

    try:
        if os.path.samestat(os.fstat(2), os.stat(os.devnull)):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | OPEN_FLAGS
            fd = os.open(os.path.join(record.path, LOG), flags, 0o600)
            os.dup2(fd, 2)
            os.close(fd)
    except OSError:
        pass  # the disk rejects a new file


def _record_crash(record: Record, error: BaseException) -> None:
    """Record the crash in every pending alert; an installation may be broken in any way."""
    import time

    from gpualert_common.notify.entry import EntryState
    from gpualert_common.notify.outbox import Outbox

    problem = f"the sender crashed: {type(error).__name__}: {error}"
    for entry in Outbox(record).entries():
        entry.change(
            (EntryState.PENDING,), last={"at": time.time(), "problem": problem, "transient": True}
        )
