"""The sender: a process that delivers a record's alerts and outlives whoever started it.

A program (:mod:`gpualert_common.processes.program`).  Its stdin is one JSON object: the record,
secrets that were given in person, and how patient to be.  Whatever happens in here, the kernel ends
it, and each courier that it forks, a while after its patience is over.

Into ``done_fd`` it writes how the alerts stand, one JSON array a line, whenever that changes, and
closes it when the record's own are settled or left for later: so whoever waits needs no disk.
"""

from __future__ import annotations

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
"""For alerts that other runs left behind: one attempt each, or two."""


class _Teller:
    """Tells whoever waits how the alerts stand; nobody need be there."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._last = b""
        if fd >= 0:
            os.set_blocking(fd, False)

    def tell(self, entries: list[OutboxEntry]) -> None:
        line = json.dumps([entry.fields for entry in entries]).encode() + b"\n"
        if self._fd >= 0 and line != self._last:
            self._last = line
            try:
                os.write(self._fd, line)
            except OSError:
                self.close()  # nobody waits any more, or takes it in

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def main() -> None:
    """Serve one request; exits, never returns."""
    request = json.load(sys.stdin)
    if request["done_fd"] >= 0 and os.fork():
        os._exit(0)  # we are nobody's child: an engine may end those of its task
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    extend_import_path(request["sys_path"])
    from gpualert_common.notify.record_delivery import MARGIN_S
    from gpualert_common.record import Record

    signal.setitimer(signal.ITIMER_REAL, float(request["patience_s"]) + MARGIN_S)
    record = Record.open(request["record"])
    _keep_last_words(record)
    try:
        _serve(record, request)
    except BaseException as error:
        _confess(record, error)
        raise  # its last words are in its log
    os._exit(0)


def _serve(record: Record, request: dict[str, Any]) -> None:
    from gpualert_common.notify.record_delivery import deliver, deliver_overdue, deliver_warnings

    patience_s = float(request["patience_s"])
    if request.get("early"):
        deliver_warnings(record, secrets=request["secrets"], patience_s=patience_s)
        return
    teller = _Teller(request["done_fd"])
    if request["own"]:
        deliver(
            record,
            secrets=request["secrets"],
            others=request["others"],
            now=request["now"],
            again=request["again"],
            patience_s=patience_s,
            tell=teller.tell,
        )
    teller.close()
    if patience_s > 0:
        deliver_overdue(record.path, patience_s=_OTHERS_S)


def _keep_last_words(record: Record) -> None:
    """Our stderr goes into the record, where it is the log of a guardian already or is nowhere."""
    try:
        if os.path.samestat(os.fstat(2), os.stat(os.devnull)):
            fd = os.open(
                os.path.join(record.path, LOG),
                os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW,
                0o600,
            )
            os.dup2(fd, 2)
            os.close(fd)
    except OSError:
        pass  # a disk that takes no file gets none


def _confess(record: Record, error: BaseException) -> None:
    """Say in every alert that is left why it is; an installation may be broken in any way."""
    import time

    from gpualert_common.notify.entry import PENDING
    from gpualert_common.notify.outbox import Outbox

    problem = f"the sender broke: {type(error).__name__}: {error}"
    for entry in Outbox(record).entries():
        entry.change((PENDING,), last={"at": time.time(), "problem": problem, "transient": True})
