"""The threads of a process that a profile shows: the main thread, and those that do something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpualert_common.profiles.frame_trees import MOST_NODES, fold_rare
from gpualert_common.profiles.sampled_stacks import ThreadStacks
from gpualert_common.structs import Struct

MOST_THREADS = 64
"""Of one process."""
_IDLE_SHARE = 0.01
"""A thread that used less of a core than this waited all the time."""


class ShownThreads(Struct, frozen=True):
    """The main thread of a process, None if there are no samples of it, and its other threads.

    ``idle`` counts the threads that used no processor, ``left_out`` those beyond the limit.
    """

    main: ThreadStacks | None = None
    others: tuple[ThreadStacks, ...] = ()
    idle: int = 0
    left_out: int = 0


def choose_threads(
    threads: Sequence[ThreadStacks], pid: int, used: Mapping[int, int] | None, lasted_s: float
) -> ShownThreads:
    """Return the threads of a process to show.

    ``used`` is the processor time of each one in nanoseconds; None shows those that only wait, too.
    py-spy has the threads in no useful order, the main thread often last.
    """
    main = _find_main(threads, pid)
    others = [one for one in threads if one is not main]
    busy = others if used is None else _choose_busy(others, used, lasted_s)
    kept = busy[: MOST_THREADS - 1]
    return ShownThreads(
        None if main is None else fold_rare(main, MOST_NODES),
        tuple(fold_rare(one, MOST_NODES) for one in kept),
        idle=len(others) - len(busy),
        left_out=len(busy) - len(kept),
    )


def _find_main(threads: Sequence[ThreadStacks], pid: int) -> ThreadStacks | None:
    """Return the main thread; of a process in another namespace, whose numbers differ, by name."""
    named = (one for one in threads if one.name == "MainThread")
    return next((one for one in threads if one.tid == pid), next(named, None))


def _choose_busy(
    threads: Iterable[ThreadStacks], used: Mapping[int, int], lasted_s: float
) -> list[ThreadStacks]:
    """Return the threads that used the processor, the busiest first; those whose use is not known
    are last."""
    least = lasted_s * _IDLE_SHARE * 1e9
    busy = [one for one in threads if used.get(one.tid, least) >= least]
    return sorted(busy, key=lambda one: -used.get(one.tid, least))
