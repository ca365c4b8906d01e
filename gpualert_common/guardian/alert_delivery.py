"""Delivers the alerts of a run in its guardian, once the run has ended."""

from __future__ import annotations

import signal
import time

from gpualert_common.errors import GPUAlertError
from gpualert_common.notify.alert_facts import alerts_in
from gpualert_common.notify.job_part import read_part
from gpualert_common.notify.reconciliation import reconcile
from gpualert_common.notify.schedule import DUE, AlertAction
from gpualert_common.notify.sender_launch import VERDICT_SHARE, become_sender, dispatch
from gpualert_common.record import Record
from gpualert_common.record.marks import UNDELIVERED, find_state_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SOON_S = 2.0
_SOON_POLL_S = 0.03
"""A task that lives writes its outcome within moments, and then waits for us."""
_LATER_POLL_S = 0.5
_RECORDED_S = 60.0
"""A recorder that was stopped, or a frozen disk, may record the end that late."""


def deliver_after_run(
    record: Record, secrets: Mapping[str, Mapping[str, str]] | None, alerts_fd: int
) -> None:
    """Send the alerts of a run that has ended, once they are known to be due.

    Waits for the outcome of the task that follows the run, and for the next attempt where one may
    come.  Meanwhile a signal ends the guardian, and later runs deliver what is held.  Returns when
    there is nothing to send; otherwise this process becomes the sender.
    """
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    began = time.monotonic()
    try:
        if record.is_removed:  # the last files of the run created it anew
            record = Record.open(record.path)
        while (action := reconcile(record)[0].action) in (AlertAction.WAIT, AlertAction.HOLD):
            waited_s = time.monotonic() - began
            if waited_s > _RECORDED_S and record.ending is None:
                return  # the disk does not take the end of the run; a later run delivers
            time.sleep(_SOON_POLL_S if waited_s < _SOON_S else _LATER_POLL_S)
        if action in DUE or read_part(record) is not None:  # its digest is to be published
            within_s = alerts_in(record.spec).get("deadline_s", 0.0) * VERDICT_SHARE
            become_sender(record.path, secrets, keep=alerts_fd, verdict_within_s=within_s)
        if UNDELIVERED.list_records(find_state_dir(record.path)):
            dispatch(record.path, own=False, deadline_s=0.0)
    except (GPUAlertError, OSError) as error:
        print(f"alerts: {error}", flush=True)  # noqa: T201 - the guardian's log
