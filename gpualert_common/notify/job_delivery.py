"""The job's side of a delivery: its agreement, kept in the record while the alert is sent."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator

from gpualert_common.jobs.alerts.alert_action import JobAlertAction
from gpualert_common.notify.alert_facts import alerts_in
from gpualert_common.notify.entry import EntryState
from gpualert_common.notify.job_part import JobPart, read_part, store_part, store_report
from gpualert_common.record import VERDICT, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.notify.job_agreement import JobAgreement

LOCK = ".job"
"""File in the record that the sender locks while it agrees with the other nodes."""
SOON_SHARE = 0.5
"""Share of the deadline for alerts after which a sender that ends with its container sends."""
_OLD_S = 1800.0
"""Time after the end of a run from which on its alert does not wait for the job directory long."""
_LAST_TRY_S = 45.0
"""Time for the other nodes and the job directory then: more than the lease of a claim."""
_ENDING_PLACES = ("SLURM_STEP_ID", "KUBERNETES_SERVICE_HOST")
"""Variables of places that end the processes that a run leaves behind."""


class JobDelivery:
    """The agreement of one delivery; without one, nothing but the run decides.

    The record keeps it only if ``is_wanted``: a run whose alert nobody wants has no part in one.
    """

    def __init__(
        self, record: Record, agreement: JobAgreement | None = None, *, is_wanted: bool = False
    ) -> None:
        self._record = record
        self._is_wanted = is_wanted
        self._agreement = agreement
        self._stored: JobPart | None = None
        self._is_noted = False

    @property
    def part(self) -> JobPart | None:
        """Part of the run in the alert of its job; None if the record has to say that."""
        return None if self._agreement is None else self._agreement.part

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Descriptors that other children of this process must not keep."""
        return () if self._agreement is None else self._agreement.descriptors

    def reach(self, within_s: float) -> Iterator[None]:
        """Yield again and again until the nodes have agreed, or the time is over."""
        if self._agreement is not None:
            for _part in self._agreement.reach(within_s):
                self._store()
                yield
            self._store()

    def is_lost(self) -> bool:
        """True once another node has taken the alert over; renews the claim of this one."""
        if self._agreement is None:
            return False
        self._agreement.poll()
        self._store()
        return self._agreement.part.action is JobAlertAction.LEAVE

    def note(self, states: Iterable[EntryState]) -> None:
        """Note in the job directory, once, that a channel has sent the alert, or all refused it."""
        if self._agreement is not None and self._agreement.part.is_sender and not self._is_noted:
            found = set(states)
            is_sent = EntryState.SENT in found
            if is_sent or found == {EntryState.FAILED}:
                self._is_noted = True
                self._agreement.note(is_sent=is_sent)

    def _store(self) -> None:
        """Write the part into the record once it has changed, after the report that it needs."""
        agreement = self._agreement
        if agreement is not None and self._is_wanted and agreement.part != self._stored:
            if agreement.report is not None:
                store_report(self._record, agreement.report)
            store_part(self._record, agreement.part)
            self._stored = agreement.part


@contextlib.contextmanager
def agree(
    record: Record, known_secrets: tuple[str, ...], *, is_wanted: bool
) -> Iterator[JobDelivery]:
    """Start the agreement of a run with the other nodes of its job, if it has a job directory.

    ``is_wanted`` is False for a run that only publishes its digest.  One process at a time agrees.
    """
    lock_fd = -1
    if read_part(record) is not None and (is_wanted or not _is_published(record)):
        try:
            lock_fd = record.try_lock(LOCK)
        except OSError:  # a disk that takes no file: two alerts are better than none
            lock_fd = os.open(os.devnull, os.O_RDONLY)
    if lock_fd < 0:
        yield JobDelivery(record)
        return
    from gpualert_common.notify.job_agreement import JobAgreement

    agreement = JobAgreement(
        record,
        known_secrets,
        is_wanted=is_wanted,
        latest_at=_find_latest_time(record),
        lock_fd=lock_fd,
    )
    try:
        yield JobDelivery(record, agreement, is_wanted=is_wanted)
    finally:
        agreement.close()
        os.close(lock_fd)


def _is_published(record: Record) -> bool:
    """True if the job directory has the last digest of the run, with its verdict."""
    from gpualert_common.jobs.renewal.renewal_state import read_state

    state = read_state(record)
    return state.is_final and (record.stored_at(VERDICT) or 0.0) <= state.at


def _find_latest_time(record: Record) -> float:
    """Return when the alert has to be sent in any case: by the end of this process, and long after
    the end of the run, when a job directory that still fails is lost."""
    now = time.time()
    ending = record.ending
    ended_at = now if ending is None or ending.ended_at is None else ending.ended_at
    latest_at = max(now + _LAST_TRY_S, ended_at + _OLD_S)
    if any(name in os.environ for name in _ENDING_PLACES):
        latest_at = min(latest_at, now + alerts_in(record.spec).get("deadline_s", 0.0) * SOON_SHARE)
    return latest_at
