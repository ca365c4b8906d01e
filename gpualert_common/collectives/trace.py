"""Data of a trace: the collectives that one rank called, and how far it came in each group."""

from __future__ import annotations

from gpualert_common.structs import Struct

DEFAULT_GROUP = "default_pg"
"""Description that PyTorch gives to the group of all ranks."""

UNKNOWN_PEER = -1
"""Peer of a transfer whose other end is not known."""

MOST_RANKS = 1 << 17
"""Ranks of a job.  A larger number is a mistake, or damaged."""

Shapes = tuple[tuple[int, ...], ...]


class ProcessGroup(Struct, frozen=True):
    """A process group; ``ranks`` are its members by their global ranks, empty if not known.

    ``key`` tells groups apart: two groups of one name may have different members.
    """

    key: str
    name: str
    description: str = ""
    ranks: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """The name for people: the description, where the program or PyTorch gave one."""
        return self.description if self.description not in ("", "undefined") else self.name


class RecordedCall(Struct, frozen=True):
    """One call of a collective, or of one side of a transfer between two ranks.

    ``sequence`` counts the collectives of the group from 1.  ``peer`` is the global rank at the
    other end of a transfer, :data:`UNKNOWN_PEER` where that is not known, None for a collective.
    ``created_ns`` is its time since the epoch.
    """

    group: str
    sequence: int
    operation: str
    input_sizes: Shapes = ()
    output_sizes: Shapes = ()
    input_dtypes: tuple[str, ...] = ()
    output_dtypes: tuple[str, ...] = ()
    is_done: bool = False
    created_ns: int = 0
    peer: int | None = None


class GroupProgress(Struct, frozen=True):
    """Last collective that a rank entered in a group, and the last one that it completed.

    ``is_exact`` is False where a collective that failed counts as completed, or where only the
    number of calls is known.
    """

    group: str
    entered: int
    completed: int
    is_exact: bool = True


class RankTrace(Struct, frozen=True):
    """The trace of one rank; ``calls`` are the newest ones of each group, the oldest first.

    ``is_whole`` is True if no earlier call was lost.
    """

    rank: int
    groups: tuple[ProcessGroup, ...] = ()
    progress: tuple[GroupProgress, ...] = ()
    calls: tuple[RecordedCall, ...] = ()
    is_whole: bool = False
