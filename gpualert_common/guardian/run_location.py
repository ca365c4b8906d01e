"""Where a run is: what an engine keeps for a next attempt that may not find its record.

Workers on several hosts need not share a state directory.  The engine's own store then tells the
next attempt that there is a run before it, where its record is, and how long it can still go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from gpualert_common.recover import place_of
from gpualert_common.spec import is_seconds
from gpualert_common.supervise.recorder import BEAT_S
from gpualert_common.supervise.stop import KILLING_S, LAST_CALL_S

if TYPE_CHECKING:
    from gpualert_common.record import Record

_MARGIN_S = BEAT_S + 5.0
"""The last beat may be so much older than the last look, and a look is acted upon a tick later."""


@dataclass(frozen=True)
class RunLocation:
    """A run as its attempt left it behind: its record's path, its host, container and boot.

    Without a follower it has ended within ``ends_within_s`` seconds.
    """

    record: str
    host: str
    boot_id: str
    pid_namespace: str
    ends_within_s: float

    @classmethod
    def of(cls, record: Record) -> Self:
        """Of a run of an attempt.  Raises RecordError."""
        spec = record.spec
        agreed = spec["custody"]
        return cls(
            record=str(record.path),
            host=spec["host"],
            boot_id=spec["boot_id"],
            pid_namespace=spec["pid_namespace"],
            ends_within_s=agreed["adopt_within_s"] + fence_s(agreed["lease_s"], spec["grace_s"]),
        )

    @classmethod
    def from_json(cls, value: object) -> Self | None:
        """From what :meth:`to_json` gave, wherever it was kept; None when it is not that."""
        if not isinstance(value, Mapping):
            return None
        given: dict[str, Any] = {field.name: value.get(field.name) for field in fields(cls)}
        texts = [one for name, one in given.items() if name != "ends_within_s"]
        if all(isinstance(one, str) for one in texts) and is_seconds(given["ends_within_s"]):
            return cls(**given)
        return None

    def to_json(self) -> dict[str, Any]:
        """As an object of plain values."""
        return asdict(self)

    @property
    def elsewhere(self) -> str:
        """The place of its processes, when they cannot be seen from here; empty otherwise."""
        return place_of(asdict(self))


def fence_s(lease_s: float, grace_s: float | None) -> float:
    """After so long without a sign of a guardian on another host its run has ended."""
    return lease_s + (grace_s or 0.0) + LAST_CALL_S + KILLING_S + _MARGIN_S
