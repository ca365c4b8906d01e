"""Ownership of the alert about a job: the node that sends it, agreed by claims in the store.

A state machine without threads and sleeps: the sender calls :meth:`JobAlert.step` at the times that
it returns.
"""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.jobs.digest import Digest
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.job_report import JobReport
from gpualert_common.structs import Struct


class JobAlertAction(StrEnum):
    """Action for the alert of one run of a job."""

    WAIT = "wait"
    """Call again at ``next_at``."""
    SEND = "send"
    """This run sends the alert about the job."""
    ADD = "add"
    """This run sends an addition: it changes the cause that the alert named."""
    LEAVE = "leave"
    """Another node sends it, or has sent it."""


class JobAlertStep(Struct, frozen=True):
    """An action and its reason; ``report`` is the job as the alert has to show it."""

    action: JobAlertAction
    because: str
    next_at: float = 0.0
    report: JobReport | None = None


class JobAlert:
    """The alert of one run that has ended, as a part of its job's alert."""

    def __init__(self, directory: JobDirectory, own: Digest) -> None:
        self._directory = directory
        self._own = own

    def step(self, now: float) -> JobAlertStep:
        """Return what to do at the time ``now``.  Raises StoreError."""
        raise NotImplementedError

    def note_sent(self, now: float) -> None:
        """Note in the store that the alert was sent.  Raises StoreError."""
        raise NotImplementedError
