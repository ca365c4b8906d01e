"""The calls of one rank from its flight recorder dump, of any release of PyTorch.

Releases differ in names: before 2.4 a call has ``seq_id`` in place of ``collective_seq_id``, and
its group is a text.  Gloo gives no members of groups, its calls stay ``scheduled``, and a call
that failed is ``retired`` as one that succeeded.  NCCL's ``retired`` call that is not
``completed`` has timed out.  What has another form than expected is left out.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any

from gpualert_common.collectives.trace import (
    DEFAULT_GROUP,
    MOST_RANKS,
    UNKNOWN_PEER,
    GroupProgress,
    ProcessGroup,
    RankTrace,
    RecordedCall,
    Shapes,
)

_MOST_CHARS = 200
_MOST_DIGITS = 18
_MOST_CALLS = 256
"""Newest calls of each group that are kept: far more than a rank is ahead of another one."""
_ARROWS = {"send": "->", "recv": "<-"}


def read_trace(dump: Mapping[str, Any], rank: int) -> RankTrace:
    """Return the trace of *rank* in its dump."""
    groups = _read_groups(dump.get("pg_config"))
    calls: dict[str, deque[RecordedCall]] = defaultdict(lambda: deque(maxlen=_MOST_CALLS))
    backends: dict[str, str] = {}
    keys: dict[str, str] = {}
    for entry in _list(dump.get("entries")):
        if not isinstance(entry, dict):
            continue
        name, description = _read_group_name(entry.get("process_group"))
        group = groups.setdefault(name, ProcessGroup(name, name, description))
        if description and not group.description:
            group = groups[name] = ProcessGroup(group.key, name, description, group.ranks)
        backend, _, operation = _text(entry.get("profiling_name")).rpartition(":")
        backends[group.key] = backend
        keys[_text(entry.get("pg_id", name))] = group.key
        calls[group.key].append(_read_call(entry, group, backend, operation))
    status = _read_status(dump.get("pg_status"), keys)
    progress = [
        _find_progress(key, list(of_group), backends[key], status.get(key))
        for key, of_group in calls.items()
    ]
    kept = [call for of_group in calls.values() for call in of_group]
    return RankTrace(
        rank,
        tuple(group for group in groups.values() if group.name or group.key in calls),
        tuple(one for one in progress if one is not None),
        tuple(sorted(kept, key=lambda call: call.created_ns)),
        is_whole=all(of_group[0].sequence <= 1 for of_group in calls.values()),
    )


def _read_groups(config: Any) -> dict[str, ProcessGroup]:
    """Return the groups that a dump describes, by their names."""
    groups = {}
    for given, found in config.items() if isinstance(config, dict) else ():
        if isinstance(found, dict):
            name = _text(found.get("name", given))
            ranks = _read_ranks(found.get("ranks"))
            key = f"{name} {','.join(map(str, ranks))}" if ranks else name
            groups[name] = ProcessGroup(key, name, _text(found.get("desc")), ranks)
    return groups


def _read_ranks(value: Any) -> tuple[int, ...]:
    """Return ranks from a list, or from its text such as "[0, 1]"."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return ()
    return tuple(sorted(one for one in _list(found)[:MOST_RANKS] if _is_number(one)))


def _read_group_name(value: Any) -> tuple[str, str]:
    if isinstance(value, list | tuple):
        name, description = (*map(_text, value[:2]), "", "")[:2]
        return name, description
    return _text(value), ""


def _read_call(
    entry: Mapping[str, Any], group: ProcessGroup, backend: str, operation: str
) -> RecordedCall:
    operation, _, ends = operation.partition(" ")
    is_retired = backend == "gloo" and bool(entry.get("retired"))
    return RecordedCall(
        group.key,
        max(0, _number(entry.get("collective_seq_id", entry.get("seq_id")))),
        operation,
        _read_sizes(entry.get("input_sizes")),
        _read_sizes(entry.get("output_sizes")),
        tuple(map(_text, _list(entry.get("input_dtypes")))),
        tuple(map(_text, _list(entry.get("output_dtypes")))),
        is_done=entry.get("state") == "completed" or is_retired,
        created_ns=_number(entry.get("time_created_ns")),
        peer=_read_peer(operation, ends, group) if _is_transfer(entry, operation) else None,
    )


def _is_transfer(entry: Mapping[str, Any], operation: str) -> bool:
    return bool(entry.get("is_p2p")) or operation in _ARROWS


def _read_peer(operation: str, ends: str, group: ProcessGroup) -> int:
    """Return the other end of "0->1" as a global rank, where the members are known."""
    peer = ends.partition(_ARROWS.get(operation, "->"))[2]
    number = int(peer) if peer.isdecimal() else UNKNOWN_PEER
    if not group.ranks:
        return number if group.description == DEFAULT_GROUP else UNKNOWN_PEER
    return group.ranks[number] if 0 <= number < len(group.ranks) else UNKNOWN_PEER


def _read_sizes(value: Any) -> Shapes:
    return tuple(tuple(_number(size) for size in _list(shape)) for shape in _list(value))


def _read_status(status: Any, keys: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Return the last collective that was enqueued and completed, by the key of the group."""
    found = {}
    for number, one in status.items() if isinstance(status, dict) else ():
        key = keys.get(_text(number))
        if key is not None and isinstance(one, dict):
            names = ("last_enqueued_collective", "last_completed_collective")
            enqueued, completed = (_number(one.get(name), -1) for name in names)
            found[key] = (enqueued, completed)
    return found


def _find_progress(
    key: str, calls: Sequence[RecordedCall], backend: str, status: tuple[int, int] | None
) -> GroupProgress | None:
    """Return the progress in a group, by its calls and, without transfers, by its status.

    A transfer has a number of its own in the status.
    """
    collectives = [call for call in calls if call.peer is None]
    has_transfers = len(collectives) < len(calls)
    if not collectives:
        return None
    entered = max(call.sequence for call in collectives)
    pending = [call.sequence for call in collectives if not call.is_done]
    completed = min(pending) - 1 if pending else entered
    if status is not None and not has_transfers and status[0] >= entered:
        if status[0] > entered and not pending:
            completed = max(completed, min(status))
        entered = status[0]
    return GroupProgress(key, entered, completed, is_exact=backend != "gloo")


def _text(value: Any) -> str:
    """Return a text, or a number as text; "" for all else, whose text may have any length."""
    found = str(value) if isinstance(value, str) or _is_number(value) else ""
    return found[:_MOST_CHARS]


def _number(value: Any, otherwise: int = 0) -> int:
    if isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) <= _MOST_DIGITS:
        return int(value)
    return int(value) if _is_number(value) else otherwise


def _is_number(value: Any) -> bool:
    """Return whether a value is a whole number of at most 64 bits."""
    return isinstance(value, int) and -(1 << 63) <= value < 1 << 63


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
