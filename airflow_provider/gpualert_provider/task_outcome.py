"""The outcome of an attempt at a task: its state in Airflow, and the time of the next attempt."""

from __future__ import annotations

from typing import NamedTuple

_FINAL_STATES = ("failed", "success", "skipped", "upstream_failed", "removed")
_RESTARTING = "restarting"
_CLEARED = (None, _RESTARTING)
"""States of a task that a user cleared while it ran."""

GOOD_STATES = ("success", "skipped")


class TaskOutcome(NamedTuple):
    """State of a task after an attempt.

    Another attempt begins within ``within_s`` seconds; None says that none follows.
    """

    state: str
    within_s: float | None = None

    @property
    def is_final(self) -> bool:
        """True when no further attempt follows."""
        return self.within_s is None


def find_outcome(state: str | None, restart_within_s: float) -> TaskOutcome | None:
    """Return the outcome of a task to which Airflow gave *state* while it ran.

    A task that was cleared runs again.  None where the attempt decides itself.
    """
    if state in _CLEARED:
        return TaskOutcome(_RESTARTING, restart_within_s)
    return TaskOutcome(state) if state in _FINAL_STATES else None


def find_outcome_while_deferred(state: str | None, restart_within_s: float) -> TaskOutcome:
    """Return the outcome of a task that is not deferred any more, although its trigger still runs.

    In any state that is not final it was cleared: Airflow may have scheduled or started it again.
    """
    return find_outcome(state, restart_within_s) or TaskOutcome(_RESTARTING, restart_within_s)


def describe_change(state: str | None) -> str:
    """Return what happened to a task that has *state* although its attempt still runs."""
    return "it was cleared" if state in _CLEARED else f"it was set to {state}"
