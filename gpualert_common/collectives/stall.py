"""Stall: the ranks that others wait for in their collectives, and the reason."""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.structs import Struct


class StallKind(StrEnum):
    """Kinds of a stall, the most certain first."""

    MISMATCH = "mismatch"
    """Ranks called different collectives at one place."""
    ORDER = "order"
    """Ranks wait for each other in different groups."""
    MISSING = "missing"
    """Ranks never entered the collective, and wait in no other one."""
    ABSENT = "absent"
    """Ranks that may not have entered it left no trace."""
    TRANSFER = "transfer"
    """All ranks entered the collective, and it does not end."""


class Difference(StrEnum):
    """Difference between the calls of a mismatch."""

    OPERATION = "operation"
    SIZE = "size"
    DTYPE = "dtype"
    SKIPPED = "skipped"
    """They left out one call that the others made."""
    EXTRA = "extra"
    """They made one call more than the others."""


class Stall(Struct, frozen=True):
    """The result: ``waiting`` ranks wait for the ``culprits``.

    ``call`` is the one that the direct waiters are in, number ``sequence`` of ``group``;
    ``other_call`` is that of the culprits at the same place, or their last one.  ``is_tied`` says
    that the culprits of a mismatch or an order are all ranks that disagree: none is the odd one.
    ``has_departed`` says that the culprits left the order of their own earlier steps, and that this
    decides, not a majority.
    ``indirect`` are the waiting ranks that are in other calls.  ``untraced`` are members of the
    group without a trace.  ``traced`` counts the ranks with one.
    """

    kind: StallKind
    culprits: tuple[int, ...]
    waiting: tuple[int, ...]
    group: str = ""
    sequence: int = 0
    call: str = ""
    other_call: str = ""
    difference: Difference | None = None
    is_tied: bool = False
    has_departed: bool = False
    indirect: tuple[int, ...] = ()
    untraced: tuple[int, ...] = ()
    traced: int = 0
