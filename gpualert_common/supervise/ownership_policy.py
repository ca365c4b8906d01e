"""Interface through which a supervisor asks who owns its run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    Events = list[tuple[str, dict[str, Any]]]
    """Events for the record: name and fields."""

    class OwnershipPolicy(Protocol):
        """Decides what becomes of a run when its follower goes; answers with events."""

        follower_fd: int
        """Readable when the follower has ended; -1 while none can be seen."""

        def handle_follower_exit(self) -> Events:
            """Return the events that follow from the readable descriptor."""

        def handle_leases(self, leases: Mapping[str, int] | None, now: float) -> Events:
            """Return the events that follow from the leases in the record; None: it was removed."""

        def answer(self, request: Mapping[str, Any]) -> Events:
            """Return the events that answer a request of another kind than a stop."""

        def may_stop(self, request: Mapping[str, Any]) -> bool:
            """False when the requesting attempt was superseded."""

        def may_signal(self, pid: int) -> bool:
            """False for a process that followed the run and was superseded."""

        def end_reason(self, now: float) -> str | None:
            """Return why the run must be ended now, or None."""

        def begin_stop(self) -> None:
            """Close the run: a stop has begun."""
