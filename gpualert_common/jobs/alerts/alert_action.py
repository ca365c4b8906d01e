"""Actions for the alert of one run of a job."""

from __future__ import annotations

from enum import StrEnum


class JobAlertAction(StrEnum):
    """Action for the alert of one run of a job."""

    WAIT = "wait"
    """Call again at ``next_at``."""
    SEND = "send"
    """This run sends the alert about the job; call again at ``next_at`` until it is sent."""
    ADD = "add"
    """This run sends an addition: it changes the cause that the alert named."""
    LEAVE = "leave"
    """Another node sends it, or has sent it."""
