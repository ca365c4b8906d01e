"""Facts about a trace that its file has beside the events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from gpualert_common.structs import Struct

Value = TypeVar("Value")

MOST_RANKS = 1 << 17
_MOST_BASE_NS = 253_402_300_800 * 10**9
_INVALID = (msgspec.DecodeError, UnicodeError, RecursionError)


class TraceHead(Struct, frozen=True):
    """Facts about a trace that its file has beside the events.

    ``base_ns`` is the time since the epoch from which the events count; 0 where they count from the
    epoch itself, as in traces before PyTorch 2.4.  ``rank`` is -1 where the process was in no
    group, ``group_size`` where its groups are not known or have different sizes.
    """

    base_ns: int = 0
    host: str = ""
    rank: int = -1
    group_size: int = -1
    is_merged: bool = False


class _ProcessGroup(Struct, frozen=True):
    """One group of ranks."""

    pg_size: int = -1


class _ProcessGroups(Struct, frozen=True):
    """All groups in which the process is; old versions of PyTorch do not write them."""

    pg_config: tuple[_ProcessGroup, ...] = ()


class _DistributedInfo(Struct, frozen=True):
    """The place of the process among all ranks."""

    rank: int = -1


def extend_head(head: TraceHead, fields: Mapping[str, msgspec.Raw]) -> TraceHead:
    """Return the head with what these fields say; those of wrong types say nothing."""
    place = _take(fields, "distributedInfo", _DistributedInfo) or _DistributedInfo()
    groups = _take(fields, "distributedInfo", _ProcessGroups) or _ProcessGroups()
    sizes = {one.pg_size for one in groups.pg_config}
    base = _take(fields, "baseTimeNanoseconds", int) or 0
    return TraceHead(
        base_ns=base if 0 < base < _MOST_BASE_NS else head.base_ns,
        host=(_take(fields, "host_name", str) or head.host)[:256],
        rank=place.rank if 0 <= place.rank < MOST_RANKS else head.rank,
        group_size=sizes.pop() if len(sizes) == 1 else head.group_size,
        is_merged=head.is_merged or "mergedRanks" in fields,
    )


def _take(fields: Mapping[str, msgspec.Raw], key: str, kind: type[Value]) -> Value | None:
    """Return the field if it is there and of that kind."""
    try:
        return msgspec.json.decode(fields[key], type=kind)
    except (KeyError, *_INVALID):
        return None
