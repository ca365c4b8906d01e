"""Interface of a channel.  Each kind is a file in this folder; its name is the kind's name.

A channel's module is imported before a run is launched, to check its settings, so it imports
heavy modules (smtplib, email, apprise) only where it sends.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar, Protocol

    from gpualert_common.notify.message import Budget, Message

    class DeliveredParts(Protocol):
        """The parts of a message that have arrived, kept on the disk between attempts."""

        def has(self, part: str) -> bool:
            """True when that part arrived in this attempt or an earlier one."""

        def mark(self, part: str) -> None:
            """Record that the part has arrived; it is on the disk when this returns."""

    class Channel(Protocol):
        """A destination of alerts.  Created for every attempt, in a process of its own.

        ``KEYS`` are the settings it takes, each with a function that checks and converts a value
        (raises ValueError with the problem) and a line of help; ``REQUIRED`` those that must
        be given; ``SECRET`` those whose values are never written to the disk.
        """

        KEYS: ClassVar[Mapping[str, tuple[Callable[[Any], Any], str]]]
        REQUIRED: ClassVar[tuple[str, ...]]
        SECRET: ClassVar[tuple[str, ...]]

        def __init__(self, settings: Mapping[str, Any]) -> None:
            """``settings`` are checked, and their secrets resolved.  Does no I/O."""

        @staticmethod
        def find_obstacle(settings: Mapping[str, Any]) -> str:
            """Return why a channel with these settings cannot send from here; empty if it may.

            Called before a launch: cheap, imports nothing heavy, connects to nothing.  ``settings``
            are checked; secrets are references, or withheld.
            """

        @property
        def address(self) -> str:
            """The destination, in one line without secrets; equal for equal destinations."""

        @property
        def budget(self) -> Budget:
            """The budget of one message, as far as it is known without I/O."""

        def send(
            self, compose: Callable[[Budget], Message], progress: DeliveredParts, timeout_s: float
        ) -> str:
            """Send the message that ``compose`` makes for a budget; return what was accepted.

            The answer is one line.  Marks each part when it arrives, and omits parts that arrived
            before.  ``timeout_s`` bounds each wait for the other side; the caller bounds the whole.
            Raises DeliveryError; any other exception counts as a transient fault.
            """
