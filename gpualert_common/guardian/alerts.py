"""What a guardian does once its run has ended: the alerts, when their time has come."""

from __future__ import annotations

import signal
import time

from gpualert_common.errors import GPUAlertError
from gpualert_common.notify.decide import HOLD, SEND, WAIT
from gpualert_common.notify.dispatch import become_sender, dispatch
from gpualert_common.notify.outbox import PENDING, WATCH, bring_up_to_date
from gpualert_common.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_SOON_S = 2.0
_SOON_POLL_S = 0.03
"""A face that lives writes its outcome within moments, and then waits for us."""
_LATER_POLL_S = 0.5
_RECORDED_S = 60.0
"""A scribe that was stopped, or a disk that is frozen, may record the end that late."""


def watch(record: Record) -> int:
    """A descriptor that says, until it is closed, that a guardian will see to the alerts."""
    try:
        return record.try_lock(WATCH)
    except OSError:
        return -1  # whoever follows the run then sends them


def attend(record: Record, secrets: Mapping[str, Mapping[str, str]] | None, watch_fd: int) -> None:
    """Send the alerts of a run that has ended, once it is known that they are due.

    Waits for the outcome of whoever follows the run, and for the next attempt where one may come;
    meanwhile a signal ends the guardian, and what is held is left to later runs.  Returns when
    there is nothing to send; otherwise this process becomes the sender.
    """
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    began = time.monotonic()
    try:
        if record.removed:  # what was still to be written made it anew
            record = Record.open(record.path)
        while (step := bring_up_to_date(record)[0]).kind in (WAIT, HOLD):
            waited_s = time.monotonic() - began
            if waited_s > _RECORDED_S and record.ending is None:
                return  # on a disk that takes no end of a run; whoever meets the record goes on
            time.sleep(_SOON_POLL_S if waited_s < _SOON_S else _LATER_POLL_S)
        if step.kind == SEND:
            become_sender(record, secrets, keep=watch_fd)
        dispatch(record, deadline_s=0.0)
    except (GPUAlertError, OSError) as error:
        print(f"alerts: {error}", flush=True)  # noqa: T201 - the guardian's log


def await_alerts(
    record: Record,
    *,
    within_s: float | None = None,
    secrets: Mapping[str, Mapping[str, str]] | None = None,
    check: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    """Wait until nothing is to be sent of a run, at most its deadline; every entry's fields.

    While its guardian lives, that one sends; after its death this process starts a sender, which
    needs the ``secrets``.  ``within_s`` bounds the wait further, and ``check`` may raise to end it.
    """
    try:
        deadline_s = float((record.spec.get("alerts") or {}).get("deadline_s") or 0.0)
        if within_s is not None:
            deadline_s = min(deadline_s, within_s)
        deadline = time.monotonic() + deadline_s
        while True:
            step, entries = bring_up_to_date(record)
            if step.kind != SEND or not any(entry.state == PENDING for entry in entries):
                break
            left_s = deadline - time.monotonic()
            if not record.is_locked(WATCH):
                entries = dispatch(record, secrets=secrets, deadline_s=max(0.0, left_s))
                break
            if left_s <= 0:
                break
            check()
            time.sleep(min(_SOON_POLL_S, left_s))
        return [entry.fields for entry in entries]
    except OSError as error:
        if error.errno is None:  # an engine's time-out may be a TimeoutError
            raise
        return []
    except (GPUAlertError, ValueError):
        return []
