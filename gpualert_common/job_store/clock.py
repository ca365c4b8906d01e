"""Clock of a store, compared with that of this machine by a file that was just written."""

from __future__ import annotations

from gpualert_common.structs import Struct

_WHOLE_SECONDS_S = 1.0
"""S3 gives times in whole seconds, rounded down; so do some filesystems."""
_TICK_S = 0.01
"""A filesystem stamps with the time of the last tick of the kernel, of up to 10 ms."""


class StoreClock(Struct, frozen=True):
    """The local clock less that of the store, at most ``error_s`` wrong."""

    offset_s: float
    error_s: float


def compare_clocks(before: float, after: float, modified_at: float) -> StoreClock:
    """Return the offset of the local clock, for a file written between *before* and *after*.

    ``modified_at`` is its time by the store.
    """
    step = _WHOLE_SECONDS_S if modified_at.is_integer() else _TICK_S
    middle = (before + after) / 2
    return StoreClock(middle - (modified_at + step / 2), (after - before + step) / 2)
