"""The location of a run, as an engine stores it for a next attempt on another host.

Workers on several hosts need not share a state directory.  From the engine's own store the next
attempt then learns that there is an earlier run, where its record is, and how long it can go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from gpualert_common.errors import RecordError
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.model import RunPlace
from gpualert_common.quantities import is_seconds
from gpualert_common.recover import locate
from gpualert_common.structs import Struct, to_builtins
from gpualert_common.supervise.recorder import BEAT_S
from gpualert_common.supervise.stop import KILLING_S, TERMINATE_S

if TYPE_CHECKING:
    from gpualert_common.record import Record

_MARGIN_S = BEAT_S + 5.0
"""Age of the last beat at the guardian's last look, and the tick until it acts on that look."""


class RunLocation(Struct, frozen=True):
    """The path of a run's record, its host, container and boot.

    Without a follower it has ended within ``ends_within_s`` seconds.
    """

    record: str
    host: str
    boot_id: str
    pid_namespace: str
    ends_within_s: float

    @classmethod
    def of(cls, record: Record) -> Self:
        """Return the location of a run of an attempt.  Raises RecordError."""
        spec = record.spec
        owner = spec.owner
        if not {"adopt_within_s", "lease_s"} <= owner.keys():
            raise RecordError(f"{record.path}: its launch record has no lease")
        return cls(
            record=str(record.path),
            host=spec.host or "",
            boot_id=spec.boot_id or "",
            pid_namespace=spec.pid_namespace or "",
            ends_within_s=owner["adopt_within_s"] + fence_s(owner["lease_s"], spec.grace_s),
        )

    @classmethod
    def from_json(cls, value: object) -> Self | None:
        """Return the location that :meth:`to_json` described; None when ``value`` is not valid."""
        if not isinstance(value, Mapping):
            return None
        given: dict[str, Any] = {name: value.get(name) for name in cls.__struct_fields__}
        texts = [one for name, one in given.items() if name != "ends_within_s"]
        if all(isinstance(one, str) for one in texts) and is_seconds(given["ends_within_s"]):
            return cls(**given)
        return None

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object."""
        fields: dict[str, object] = to_builtins(self)
        return fields

    @property
    def place(self) -> RunPlace:
        """The place of the run's processes, as seen from here."""
        place = {name: getattr(self, name) for name in ("host", "boot_id", "pid_namespace")}
        return locate(LaunchRecord(**place))


def fence_s(lease_s: float, grace_s: float) -> float:
    """Return after how many silent seconds of a guardian on another host its run has ended."""
    return lease_s + grace_s + TERMINATE_S + KILLING_S + _MARGIN_S
