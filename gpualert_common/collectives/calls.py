"""Comparison of the calls that ranks made at one place, and calls in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from gpualert_common.collectives.stall import Difference
from gpualert_common.collectives.trace import RankTrace, RecordedCall, Shapes
from gpualert_common.structs import Struct

_INPUTS_DIFFER = frozenset(
    ("scatter", "all_gather", "allgather", "all_gather_v", "allgather_v", "broadcast_oop")
)
"""Operations whose inputs may differ between ranks: one rank has the data, or all lengths count."""
_OUTPUTS_DIFFER = frozenset(("gather", "reduce_scatter", "reduce_scatter_v", "reduce_oop"))
_BATCH = "coalesced"
"""Entry of a recorder for a batch of calls, in addition to those of its calls."""
_FREE = ("all_to_all", "alltoall", "coalesced")
"""Operations whose ranks may each pass other sizes, by the beginning of their names."""
_ONE_SIDED = ("broadcast", "_broadcast", "reduce", "_reduce", "scatter", "gather")
"""Operations that some ranks complete although others never enter."""

_NAMES = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "_allgather_base": "all_gather_into_tensor",
    "_all_gather_base": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all_single",
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "Broadcast": "broadcast",
    "Reduce": "reduce",
}
"""Names of functions of PyTorch, for those that its watchdog, its recorder and NCCL write."""

Signature = tuple[tuple[str, int | None, int | None, tuple[str, ...]], ...]
"""Part of a call that all ranks share at one place: operation, numbers of elements and types."""


class Mismatch(Struct, frozen=True):
    """Different calls at one place of a group: ``odd`` ranks differ from the others.

    ``usual`` is one of the others, and ``other`` one of the odd ranks.  With ``is_tied`` no side
    has a majority, ``odd`` are all ranks there, and these two are some that differ.
    """

    sequence: int
    odd: tuple[int, ...]
    usual: int
    other: int
    difference: Difference
    is_tied: bool


CallsOfGroup = Mapping[int, Mapping[int, Sequence[RecordedCall]]]
"""The calls of a group by their place, and by rank."""


def find_mismatch(calls: CallsOfGroup) -> Mismatch | None:
    """Return the first place at which ranks made different calls; None where there is none."""
    for sequence in sorted(calls):
        signatures = {
            rank: signature
            for rank, found in calls[sequence].items()
            if (signature := _sign(found))
        }
        counts = Counter(signatures.values())
        if len(counts) > 1:
            return _describe(sequence, signatures, counts, calls)
    return None


def resolve_tie(mismatch: Mismatch, odd: Collection[int], calls: CallsOfGroup) -> Mismatch:
    """Return a mismatch without a majority as one of the *odd* ranks with the others there."""
    at = calls[mismatch.sequence]
    usual = next((rank for rank in sorted(at) if rank not in odd), None)
    other = next((rank for rank in sorted(at) if rank in odd), None)
    if usual is None or other is None:
        return mismatch
    difference = _find_shift(mismatch.sequence, usual, other, calls) or _compare(
        _sign(at[usual]), _sign(at[other])
    )
    return Mismatch(mismatch.sequence, tuple(sorted(odd)), usual, other, difference, is_tied=False)


def find_transfer(trace: RankTrace) -> RecordedCall | None:
    """Return the oldest transfer of a rank that did not end."""
    pending = [call for call in trace.calls if not call.is_done and call.peer is not None]
    return min(pending, key=lambda call: call.created_ns, default=None)


def is_one_sided(operation: str) -> bool:
    """Return whether some ranks complete an operation that others never enter."""
    return operation.startswith(_ONE_SIDED) and not operation.startswith("reduce_scatter")


def describe_calls(calls: Sequence[RecordedCall]) -> str:
    """Return the calls of one place, as in "all_reduce of 1024 elements (Float)"."""
    if not calls:
        return ""
    call = calls[0]
    shapes = call.input_sizes or call.output_sizes
    dtypes = call.input_dtypes or call.output_dtypes
    name = _NAMES.get(call.operation, call.operation.lstrip("_")) or "collective"
    if shapes and "barrier" not in name:
        elements = _count(shapes) or 0
        name += f" of {elements} element{'' if elements == 1 else 's'}"
        name += f" ({dtypes[0]})" if dtypes else ""
    more = len(calls) - 1
    return name + (f" and {more} more in one batch" if more else "")


def sign_call(call: RecordedCall) -> tuple[str, int | None, int | None, tuple[str, ...]]:
    """Return what all ranks have in common in one call."""
    operation = call.operation.strip("_")
    if operation.startswith(_FREE) or operation.endswith("coalesced"):
        return operation, None, None, ()
    inputs = None if operation in _INPUTS_DIFFER else _count(call.input_sizes)
    outputs = None if operation in _OUTPUTS_DIFFER else _count(call.output_sizes)
    dtypes = call.output_dtypes if inputs is None else call.input_dtypes
    return operation, inputs, outputs, tuple(sorted(set(dtypes)))


def _describe(
    sequence: int,
    signatures: Mapping[int, Signature],
    counts: Mapping[Signature, int],
    calls: CallsOfGroup,
) -> Mismatch:
    usual = max(counts, key=lambda one: counts[one])
    is_tied = 2 * counts[usual] <= len(signatures)
    odd = [rank for rank, one in signatures.items() if is_tied or one != usual]
    usual_rank = next(rank for rank, one in signatures.items() if one == usual)
    other = next(rank for rank, one in signatures.items() if one != usual)
    difference = _compare(usual, signatures[other])
    if not is_tied:
        difference = _find_shift(sequence, usual_rank, other, calls) or difference
    return Mismatch(sequence, tuple(sorted(odd)), usual_rank, other, difference, is_tied)


def _sign(calls: Iterable[RecordedCall]) -> Signature:
    return tuple(sign_call(call) for call in calls if call.operation != _BATCH)


def _count(shapes: Shapes) -> int | None:
    return sum(math.prod(shape) for shape in shapes) if shapes else None


def _compare(one: Signature, other: Signature) -> Difference:
    if [call[0] for call in one] != [call[0] for call in other]:
        return Difference.OPERATION
    if [call[1:3] for call in one] != [call[1:3] for call in other]:
        return Difference.SIZE
    return Difference.DTYPE


def _find_shift(sequence: int, usual: int, odd: int, calls: CallsOfGroup) -> Difference | None:
    """Return whether a rank left out one call, or made one more; None if neither is known."""

    def at(place: int, rank: int) -> Signature | None:
        found = calls.get(place, {}).get(rank)
        return None if found is None else _sign(found)

    def is_shifted(by: int, first: int, second: int) -> bool:
        pairs = [(at(place, first), at(place + by, second)) for place in calls if place >= sequence]
        known = [pair for pair in pairs if None not in pair]
        return bool(known) and all(own == other for own, other in known)

    if is_shifted(1, odd, usual):
        return Difference.SKIPPED
    return Difference.EXTRA if is_shifted(1, usual, odd) else None
