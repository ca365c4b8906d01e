"""The state of a run."""

from __future__ import annotations

from enum import StrEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class RunState(StrEnum):
    """The state of a run, from its files and the lock of its record."""

    STARTING = "starting"
    """Its record exists, and its child may not be launched yet."""
    RUNNING = "running"
    ORPHANED = "orphaned"
    """It is running without an owner."""
    STOPPING = "stopping"
    ENDED = "ended"
    LOST = "lost"
    """It has no supervisor, and its end is unknown."""


_STATE_AFTER = {
    "launched": RunState.RUNNING,
    "orphaned": RunState.ORPHANED,
    "resumed": RunState.RUNNING,
    "adopted": RunState.RUNNING,
    "stopping": RunState.STOPPING,
}


def state_after(events: Iterable[str]) -> RunState:
    """Return the state of a run that is supervised, after the events of these names."""
    state = RunState.STARTING
    for event in events:
        is_repeated = event == "launched" and state is not RunState.STARTING  # by a new recorder
        if not is_repeated:
            state = _STATE_AFTER.get(event, state)
    return state
