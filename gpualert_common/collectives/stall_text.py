"""A stall in words."""

from __future__ import annotations

from gpualert_common.collectives.stall import Difference, Stall, StallKind
from gpualert_common.processes.rank_names import name_ranks

_DIFFERENCES = {
    Difference.SKIPPED: "; it left out one call that the others made",
    Difference.EXTRA: "; it made one call more than the others",
}


_DEPARTED = {
    False: "",
    True: "; the other ranks repeat the order of their earlier calls, which it left",
}
"""Words for a culprit that its own earlier steps show."""


def describe_stall(stall: Stall) -> str:
    """Return which ranks wait for which others, and in which call, in one sentence."""
    text = _describe_kind(stall)
    if stall.indirect and stall.kind in (StallKind.MISSING, StallKind.ABSENT):
        others = f"{name_ranks(stall.indirect)} {_verb(stall.indirect)}"
        text += f"; {others} in other groups, for the same reason"
    return text


def name_place(stall: Stall) -> str:
    """Return the call in which ranks wait, as in "all_reduce number 5 of group default_pg"."""
    number = f"number {stall.sequence}" if stall.sequence else ""
    call = f"{stall.call}, {number}".rstrip(", ") if stall.call else f"collective {number}".rstrip()
    return f"{call} of group {stall.group}" if stall.group else call


def _describe_kind(stall: Stall) -> str:
    culprits = name_ranks(stall.culprits) if stall.culprits else ""
    direct = tuple(rank for rank in stall.waiting if rank not in stall.indirect)
    waiting = f"{name_ranks(direct)} {_verb(direct)}" if direct else "other ranks wait"
    place = name_place(stall)
    if stall.kind is StallKind.MISMATCH:
        return _describe_mismatch(stall, culprits)
    if stall.kind is StallKind.TRANSFER:
        return f"{waiting} in {place}, which all its ranks have entered and which does not end"
    if stall.kind is StallKind.ORDER:
        if not culprits:
            return f"{waiting} for each other in different groups, one part of them in {place}"
        if stall.is_tied:
            first, second = stall.culprits
            return (
                f"rank {first} and rank {second} wait for each other: rank {first} in {place}, and"
                f" rank {second} in {stall.other_call}"
            )
        return (
            f"{culprits} called the collectives in another order than the other ranks, which wait"
            f" for each other in different groups, one part of them in {place}"
            f"{_DEPARTED[stall.has_departed]}"
        )
    if stall.kind is StallKind.MISSING:
        last = f"; its last call was {stall.other_call}" if stall.other_call else ""
        last = last if len(stall.culprits) == 1 else ""
        return f"{waiting} in {place}, which {culprits} never entered{last}"
    missing = name_ranks(stall.untraced)
    if culprits:
        return f"{waiting} in {place}; all others entered it, and of {missing} no calls are known"
    return (
        f"{waiting} in {place}, which every rank whose calls are known has entered;"
        f" those of {missing} are not known here"
    )


def _describe_mismatch(stall: Stall, culprits: str) -> str:
    at = f"number {stall.sequence} of group {stall.group}"
    other = stall.other_call or "another collective"
    call = stall.call or "another one"
    if stall.is_tied:
        return f"{culprits} made different calls as {at}: {call}, and {other}"
    more = _DIFFERENCES.get(stall.difference, "") if stall.difference is not None else ""
    more += _DEPARTED[stall.has_departed]
    return f"{culprits} called {other} where the other ranks called {call}, as {at}{more}"


def _verb(ranks: tuple[int, ...]) -> str:
    return "waits" if len(ranks) == 1 else "wait"
