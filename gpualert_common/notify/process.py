"""The sender: a process that delivers a record's alerts and outlives whoever started it.

Executed as a file, ``python -I .../notify/process.py``.  Its stdin is one JSON object: the record,
secrets that were given in person, and how patient to be.  Whatever happens in here, the kernel ends
it a while after its patience is over.  ``done_fd`` is closed when the record's own alerts are
settled or left for later, which is how whoever waits for them learns it.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    _here = os.path.abspath(__file__)
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(_here))))

import json
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpualert_common.record import Record

_MARGIN_S = 120.0
_OTHERS_S = 5.0
"""For alerts that other runs left behind: one attempt each, or two."""


def main() -> None:
    """Serve one request; exits, never returns."""
    request = json.load(sys.stdin)
    if request["done_fd"] >= 0 and os.fork():
        os._exit(0)  # whoever started us may reap this one; we are nobody's child
    sys.path += [entry for entry in request["sys_path"] if entry not in sys.path]
    patience_s = float(request["patience_s"])
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, patience_s + _MARGIN_S)
    from gpualert_common.record import Record

    record = Record.open(request["record"])
    try:
        _serve(record, request, patience_s)
    except BaseException as error:
        _confess(record, error)
        raise  # its last words are in sender.log
    os._exit(0)


def _serve(record: Record, request: dict[str, Any], patience_s: float) -> None:
    from gpualert_common.notify.deliver import deliver, deliver_overdue

    if request["own"]:
        deliver(
            record,
            secrets=request["secrets"],
            others=request["others"],
            now=request["now"],
            again=request["again"],
            patience_s=patience_s,
        )
    if request["done_fd"] >= 0:
        os.close(request["done_fd"])
    if patience_s > 0:
        deliver_overdue(record.path, patience_s=_OTHERS_S)


def _confess(record: Record, error: BaseException) -> None:
    """Say in every alert that is left why it is; an installation may be broken in any way."""
    import time

    from gpualert_common.notify.outbox import PENDING, Outbox

    problem = f"the sender broke: {type(error).__name__}: {error}"
    for entry in Outbox(record).entries():
        if entry.state == PENDING and not entry.locked:
            entry.save(last={"at": time.time(), "problem": problem, "transient": True})


if __name__ == "__main__":
    main()
