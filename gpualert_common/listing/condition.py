"""Condition of a run: its state and its outcome in one word, which tells good from bad."""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.causes import NO_CAUSES, SLOW_CAUSES
from gpualert_common.record import RunState


class Condition(StrEnum):
    """Condition of a run in the list of runs."""

    COMPLETED = "completed"
    SUSPECT = "suspect"
    """It exited with 0, and its verdict names a cause."""
    SLOW = "slow"
    """It completed, and could have been faster."""
    FAILED = "failed"
    KILLED = "killed"
    TIMED_OUT = "timed out"
    NOT_STARTED = "not started"
    STOPPED = "stopped"
    """Somebody cancelled it."""
    PREEMPTED = "preempted"
    UNKNOWN = "unknown"
    """It has ended, and its result is not known."""
    STARTING = "starting"
    RUNNING = "running"
    ORPHANED = "orphaned"
    STOPPING = "stopping"
    UNSUPERVISED = "unsupervised"
    """Its supervisor died, and it goes on."""
    LOST = "lost"
    """It has no supervisor, and its end is unknown."""
    DAMAGED = "damaged"
    """Its record cannot be read."""


FAILURES = frozenset(
    {
        *(Condition.SUSPECT, Condition.FAILED, Condition.KILLED, Condition.TIMED_OUT),
        *(Condition.NOT_STARTED, Condition.UNKNOWN),
    }
)
"""Conditions of the runs that ended badly, or may have."""

LIVE = frozenset(
    {
        *(Condition.STARTING, Condition.RUNNING, Condition.ORPHANED, Condition.STOPPING),
        Condition.UNSUPERVISED,
    }
)
"""Conditions of the runs that go on."""


def choose_condition_tone(condition: Condition) -> str:
    """Return good, bad or odd."""
    if condition is Condition.COMPLETED:
        return "good"
    is_bad = condition in FAILURES or condition is Condition.DAMAGED
    return "bad" if is_bad and condition is not Condition.SUSPECT else "odd"


_OF_DISPOSITION = {
    "completed": Condition.COMPLETED,
    "failed": Condition.FAILED,
    "killed": Condition.KILLED,
    "timeout": Condition.TIMED_OUT,
    "not_started": Condition.NOT_STARTED,
    "cancelled": Condition.STOPPED,
    "preempted": Condition.PREEMPTED,
}


def determine_condition(
    state: RunState, disposition: str | None, cause: str | None, exit_code: int | None
) -> Condition:
    """Return the condition; without a verdict, that of the exit status (None: not known)."""
    if state is not RunState.ENDED:
        return Condition(state)
    if disposition is None:
        if exit_code is None:
            return Condition.UNKNOWN
        return Condition.FAILED if exit_code else Condition.COMPLETED
    found = _OF_DISPOSITION.get(disposition, Condition.UNKNOWN)
    if found is not Condition.COMPLETED or cause in NO_CAUSES:
        return found
    return Condition.SLOW if cause in SLOW_CAUSES else Condition.SUSPECT
