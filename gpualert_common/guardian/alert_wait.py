"""What a guardian does once its run has ended, and how its task waits for that: the alerts."""

from __future__ import annotations

import _thread
import signal
import time

from gpualert_common.errors import GPUAlertError
from gpualert_common.notify.channel_config import is_any_left
from gpualert_common.notify.decide import HOLD, SEND, WAIT
from gpualert_common.notify.entry import PENDING
from gpualert_common.notify.schedule import WATCH, alerts_in, bring_up_to_date
from gpualert_common.notify.sender_launch import become_sender, dispatch
from gpualert_common.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gpualert_common.notify.entry import OutboxEntry

    Secrets = Mapping[str, Mapping[str, str]]

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


def attend(record: Record, secrets: Secrets | None, watch_fd: int) -> None:
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
            become_sender(record.path, secrets, keep=watch_fd)
        if is_any_left(record.path):
            dispatch(record.path, own=False, deadline_s=0.0)
    except (GPUAlertError, OSError) as error:
        print(f"alerts: {error}", flush=True)  # noqa: T201 - the guardian's log


class AlertWaiter:
    """A task's wait for the alerts of its run, never longer than their deadline.

    What has to be read is read by a thread, which a disk that does not answer may keep.  While its
    guardian lives, that one sends; after its death we do, for which the ``secrets`` are needed.
    """

    def __init__(self, record: Record, secrets: Secrets | None) -> None:
        self._record = record
        self._secrets = secrets
        self._was_watched = False
        self._seen: list[dict[str, Any]] = []
        self._must_send = False
        self._over = _thread.allocate_lock()

    def wait(self, deadline: float, check: Callable[[], None]) -> list[dict[str, Any]]:
        """The fields of each alert as they stand when nothing is to be sent, or the time is over.

        ``deadline`` is on the monotonic clock.  Raises only what ``check`` or others throw in.
        """
        self._over.acquire()
        try:
            _thread.start_new_thread(self._look, (deadline,))
        except RuntimeError:
            return []  # no thread can be had; the guardian goes on
        while not self._over.acquire(timeout=_SOON_POLL_S):
            check()
            if time.monotonic() >= deadline:
                return self._seen
        if not self._must_send:
            return self._seen
        left_s = max(0.0, deadline - time.monotonic())
        path = self._record.path
        return dispatch(path, secrets=self._secrets, deadline_s=left_s, check=check)

    def _look(self, deadline: float) -> None:
        try:
            while time.monotonic() < deadline and self._goes_on():
                time.sleep(_SOON_POLL_S)
        except (GPUAlertError, OSError, ValueError, KeyError, TypeError):
            pass  # of a record that was damaged or removed; nothing can be said of its alerts
        finally:
            self._over.release()

    def _goes_on(self) -> bool:
        step, entries = bring_up_to_date(self._record)
        self._seen = [entry.fields for entry in entries]
        pending = [entry for entry in entries if entry.state == PENDING]
        if step.kind != SEND or not pending:
            return False
        if self._record.is_locked(WATCH):
            self._was_watched = True
            return True
        self._must_send = self._is_ours(pending)
        return False

    def _is_ours(self, pending: list[OutboxEntry]) -> bool:
        """False after a guardian that served, on a disk that could not take what it did."""
        return not self._was_watched or any(entry.stored for entry in pending)


def deadline_of(record: Record, within_s: float | None) -> float:
    """When the wait for a record's alerts ends, on the monotonic clock."""
    deadline_s = 0.0
    try:
        deadline_s = float(alerts_in(record.spec).get("deadline_s") or 0.0)
    except (GPUAlertError, ValueError, TypeError):
        pass
    except OSError as error:
        if error.errno is None:  # an engine's time-out may be a TimeoutError
            raise
    return time.monotonic() + (deadline_s if within_s is None else min(deadline_s, within_s))
