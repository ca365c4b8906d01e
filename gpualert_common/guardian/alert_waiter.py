"""A task's wait for the alerts of its run."""

from __future__ import annotations

import _thread
import time

from gpualert_common.errors import GPUAlertError
from gpualert_common.notify.alert_facts import alerts_in
from gpualert_common.notify.entry import OPEN, EntryState
from gpualert_common.notify.reconciliation import reconcile
from gpualert_common.notify.schedule import DUE, AlertAction
from gpualert_common.notify.sender_launch import dispatch
from gpualert_common.record import ALERTS_LOCK, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpualert_common.notify.entry import EntryFields, OutboxEntry

    Secrets = Mapping[str, Mapping[str, str]]

_POLL_S = 0.03


class AlertWaiter:
    """Waits for the alerts of one run, never longer than a deadline.

    A thread reads the record, since a disk that does not answer may block it.  The guardian sends
    the alerts; when it has died the waiter starts a sender, for which it needs the ``secrets``.
    """

    def __init__(self, record: Record, secrets: Secrets | None) -> None:
        self._record = record
        self._secrets = secrets
        self._had_guardian = False
        self._alerts: list[EntryFields] = []
        self._must_send = False
        self._is_over = _thread.allocate_lock()

    def wait(self, deadline: float, check: Callable[[], None]) -> list[EntryFields]:
        """Return the fields of each alert, once nothing is left to send or the time is over.

        ``deadline`` is on the monotonic clock.  Raises only what ``check`` or the caller's signal
        handlers raise.
        """
        self._is_over.acquire()
        try:
            _thread.start_new_thread(self._read, (deadline,))
        except RuntimeError:
            return []  # no thread can be had; the guardian goes on
        while not self._is_over.acquire(timeout=_POLL_S):
            check()
            if time.monotonic() >= deadline:
                return self._alerts
        if not self._must_send:
            return self._alerts
        left_s = max(0.0, deadline - time.monotonic())
        path = self._record.path
        return dispatch(path, secrets=self._secrets, deadline_s=left_s, check=check)

    def _read(self, deadline: float) -> None:
        try:
            while time.monotonic() < deadline and self._must_wait():
                time.sleep(_POLL_S)
        except (GPUAlertError, OSError, ValueError, KeyError, TypeError):
            pass  # the record was damaged or removed; its alerts are not known
        finally:
            self._is_over.release()

    def _must_wait(self) -> bool:
        decision, entries = reconcile(self._record)
        self._alerts = [entry.fields for entry in entries]
        is_open = decision.action is AlertAction.AGREE  # an alert that is held is then due, too
        states = OPEN if is_open else (EntryState.PENDING,)
        pending = [entry for entry in entries if entry.state in states]
        if decision.action not in DUE or not pending:
            return False
        if self._record.is_locked(ALERTS_LOCK):
            self._had_guardian = True
            return True
        self._must_send = self._is_unsent(pending)
        return False

    def _is_unsent(self, pending: list[OutboxEntry]) -> bool:
        """False after a guardian that sent them, on a disk that could not record that."""
        return not self._had_guardian or any(entry.stored for entry in pending)


def alert_deadline(record: Record, within_s: float | None) -> float:
    """Return when the wait for a record's alerts ends, on the monotonic clock."""
    deadline_s = 0.0
    try:
        deadline_s = alerts_in(record.spec).get("deadline_s", 0.0)
    except (GPUAlertError, ValueError, TypeError):
        pass
    except OSError as error:
        if error.errno is None:  # an engine's time-out may be a TimeoutError
            raise
    return time.monotonic() + (deadline_s if within_s is None else min(deadline_s, within_s))
