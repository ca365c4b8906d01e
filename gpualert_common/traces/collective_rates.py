"""Bandwidth of collectives, as the tests of NCCL define it.

The algorithm bandwidth is the size by the time.  The bus bandwidth is that times a factor of the
operation and the number of ranks n, so that it compares with the speed of the links: 2 (n-1) / n
for all_reduce, (n-1) / n for all_gather, reduce_scatter, all_to_all, gather and scatter, 1 for the
rest.  The size is that of the larger side: of the data of all ranks where they are gathered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec
from msgspec import Raw, UnsetType

from gpualert_common.median import median
from gpualert_common.structs import Struct
from gpualert_common.traces.intervals import Interval

MOST_CALLS = 200_000
_MOST_BYTES = 1 << 46
_MOST_RANKS = 1 << 20
_MOST_RATES = 20
_PARTIAL = frozenset(("allgather", "reducescatter", "alltoall", "gather", "scatter"))
"""Operations in which a rank keeps its own part of the data."""
_NAMES = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "gather": "gather",
    "scatter": "scatter",
}
_BYTES = {
    **dict.fromkeys(("byte", "char", "bool", "int8", "uint8"), 1),
    **dict.fromkeys(("unsignedchar", "signedchar"), 1),
    **dict.fromkeys(("half", "bfloat16", "short", "int16", "float16"), 2),
    **dict.fromkeys(("float", "int", "int32", "float32"), 4),
    **dict.fromkeys(("double", "long", "longint", "int64", "float64"), 8),
}


class CollectiveCall(Struct, frozen=True):
    """One call: ``sent`` and ``received`` are the elements of its input and its output.

    ``start_ns`` counts as the times of the trace do.
    """

    operation: str
    dtype: str
    group_size: int
    sent: int
    received: int
    duration_ns: int
    start_ns: int = 0


class CollectiveRate(Struct, frozen=True):
    """Bandwidth of the calls of one operation, type and group size, in bytes per second.

    ``size_bytes`` is the size of the median call.  The time of a call includes the wait for late
    ranks, so that ``best_bus_rate`` of the fastest call is nearest to what the links give.
    """

    operation: str
    dtype: str
    group_size: int
    calls: int
    size_bytes: int
    total_s: float
    algorithm_rate: float
    bus_rate: float
    best_bus_rate: float


def rate_collectives(calls: Iterable[CollectiveCall]) -> tuple[CollectiveRate, ...]:
    """Return the bandwidths, those with most time first; calls of unknown sizes are left out."""
    groups: dict[tuple[str, str, int], list[tuple[int, int]]] = defaultdict(list)
    for call in calls:
        size = _find_size(call)
        if size and call.duration_ns > 0 and 1 < call.group_size < _MOST_RANKS:
            name = _NAMES.get(_simplify(call.operation), call.operation[:40])
            groups[name, call.dtype.lower()[:20], call.group_size].append((size, call.duration_ns))
    rates = [_rate_group(*key, sizes) for key, sizes in groups.items()]
    return tuple(sorted(rates, key=lambda one: -one.total_s)[:_MOST_RATES])


def _rate_group(
    operation: str, dtype: str, group_size: int, sizes: list[tuple[int, int]]
) -> CollectiveRate:
    rates = sorted(size / duration_ns * 1e9 for size, duration_ns in sizes)
    factor = _find_factor(operation, group_size)
    usual = median(rates)
    return CollectiveRate(
        operation,
        dtype,
        group_size,
        calls=len(sizes),
        size_bytes=round(median(size for size, _ in sizes)),
        total_s=sum(duration_ns for _, duration_ns in sizes) / 1e9,
        algorithm_rate=usual,
        bus_rate=usual * factor,
        best_bus_rate=rates[-1] * factor,
    )


def _find_factor(operation: str, ranks: int) -> float:
    """Return the bus bandwidth relative to the algorithm bandwidth."""
    name = _simplify(operation)
    if name == "allreduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if name in _PARTIAL else 1.0


def _find_size(call: CollectiveCall) -> int:
    """Return the size of a call in bytes, 0 where it is not known."""
    name = _simplify(call.operation)
    elements = call.sent or call.received
    if name == "allgather":
        elements = call.received
    elif name == "gather":
        elements = call.received or call.sent * call.group_size
    elif name == "scatter":
        elements = call.sent or call.received * call.group_size
    size = elements * _find_width(call.dtype)
    return size if 0 < size < _MOST_BYTES else 0


def _find_width(dtype: str) -> int:
    """Return the bytes of an element, 0 for a type that is not known."""
    name = dtype.lower().replace(" ", "").removeprefix("c10::")
    return 1 if name.startswith("float8_") else _BYTES.get(name, 0)


def _simplify(operation: str) -> str:
    """Return one name for ``_allgather_base``, ``all_gather_into_tensor`` and the like."""
    name = operation.lower().replace("_", "")
    return next((one for one in _NAMES if name.startswith(one)), name)


def read_gloo_call(
    name: str, dims: Raw | UnsetType, types: Raw | UnsetType, group_size: int, time: Interval
) -> CollectiveCall | None:
    """Return the call that an annotation of PyTorch's gloo backend describes, by its tensors."""
    if isinstance(dims, UnsetType) or isinstance(types, UnsetType):
        return None
    try:
        shape = msgspec.json.decode(dims, type=tuple[list[int], ...])[0]
        dtype = msgspec.json.decode(types, type=tuple[str, ...])[0]
    except (msgspec.DecodeError, UnicodeError, IndexError):
        return None
    elements = 1
    for one in shape[:8]:
        elements *= max(0, min(one, 1 << 48))
    operation = name.removeprefix("gloo:")
    kind = _simplify(operation)
    sent = elements * group_size if kind == "scatter" else elements
    received = elements * group_size if kind in ("allgather", "gather") else elements
    duration_ns = time[1] - time[0]
    return CollectiveCall(
        operation[:40], dtype[:20], group_size, sent, received, duration_ns, time[0]
    )
