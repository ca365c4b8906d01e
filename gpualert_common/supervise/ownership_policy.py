"""What the supervisor asks of whoever has custody of its run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    Told = list[tuple[str, dict[str, Any]]]
    """Events for the record: name and fields."""

    class OwnershipPolicy(Protocol):
        """Decides what becomes of a run when whoever follows it goes; answers with events."""

        fd: int
        """Readable when the follower has ended; -1 while there is none to see."""

        def follower_died(self) -> Told:
            """The descriptor was readable."""

        def looked(self, leases: dict[str, int] | None, now: float) -> Told:
            """The record could be read, and these were its leases; None: it was removed."""

        def asked(self, request: dict[str, Any]) -> Told:
            """A request of another kind than a stop."""

        def may_stop(self, request: dict[str, Any]) -> bool:
            """False when who asks has no say any more."""

        def may_signal(self, pid: int) -> bool:
            """False for a process that followed the run and was superseded."""

        def why_end(self, now: float) -> str | None:
            """Why the run must be ended now, or None."""

        def stopping(self) -> None:
            """A stop has begun."""
