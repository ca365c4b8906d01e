"""Data of a profile: ranks, and trees of frames with the samples of each rank."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from gpualert_common.quantities import Seconds, Time
from gpualert_common.spec import SCHEMA
from gpualert_common.stacks.dump import StackFrame
from gpualert_common.structs import Struct, replace

MOST_RATE = 1000
MOST_DURATION_S = 600.0
MOST_SAMPLES = 60_000
"""Samples of one thread: ten minutes at the usual rate."""

LEAST_SHARE = 0.001
"""Frames that take less are one.  Of ten seconds at 100 samples per second this is one sample."""


class TreeKind(StrEnum):
    """Kinds of threads that have a tree of their own."""

    MAIN = "main"
    WORKERS = "workers"
    THREAD = "thread"


class ProfiledRank(Struct, frozen=True):
    """One rank, or the program of a run without ranks, whose ``number`` is None.

    ``samples`` counts the stacks of the main thread, ``errors`` the stacks that py-spy could not
    read.  ``lasted_s`` is the time for which it was sampled, ``problem`` says why there are no or
    few samples.  ``workers`` counts the processes below it that were sampled.
    """

    number: int | None
    pid: int
    samples: int = 0
    errors: int = 0
    lasted_s: float = 0.0
    problem: str = ""
    workers: int = 0


class FrameNode(Struct, frozen=True):
    """One frame in a tree.

    ``parent`` is the index of the node that called it, -1 for none; a parent is before its
    children.  ``frame`` is the index in :attr:`Profile.frames`.  ``counts`` has the samples of each
    rank in this frame and those that it called, in the order of :attr:`Profile.ranks`.
    """

    parent: int
    frame: int
    counts: tuple[int, ...]


class FrameTree(Struct, frozen=True):
    """The frames of one kind of thread; ``thread`` is its name, for threads other than the main
    one.

    ``samples`` has the number of samples of each rank.  Frames below ``least_share`` of the time of
    every rank are one; that is more than :data:`LEAST_SHARE` where there are too many.
    """

    kind: TreeKind
    samples: tuple[int, ...]
    nodes: tuple[FrameNode, ...]
    thread: str = ""
    least_share: float = LEAST_SHARE


class Profile(Struct, frozen=True):
    """The profile of a run.

    ``at`` is the time of its begin, ``duration_s`` the time that was asked for, ``spread_s`` the
    time between the first and the last process whose sampling began.  ``left_out``,
    ``left_out_threads`` and ``left_out_trees`` count the processes, threads and kinds of threads
    beyond the limits, ``idle_threads`` the threads that used no processor and are left out.
    """

    at: Time
    host: str
    reason: str
    duration_s: Seconds
    rate: int
    ranks: tuple[ProfiledRank, ...]
    frames: tuple[StackFrame, ...] = ()
    trees: tuple[FrameTree, ...] = ()
    spread_s: float = 0.0
    left_out: int = 0
    left_out_threads: int = 0
    left_out_trees: int = 0
    idle_threads: int = 0
    is_pausing: bool = False
    problems: tuple[str, ...] = ()
    schema: int = SCHEMA

    @property
    def is_sound(self) -> bool:
        """False where numbers of a damaged file contradict each other."""
        return bool(self.ranks) and all(map(self._is_sound_tree, self.trees))

    def _is_sound_tree(self, tree: FrameTree) -> bool:
        size = len(self.ranks)
        return len(tree.samples) == size and all(
            -1 <= node.parent < index
            and 0 <= node.frame < len(self.frames)
            and len(node.counts) == size
            and all(
                0 <= count <= most for count, most in zip(node.counts, tree.samples, strict=True)
            )
            for index, node in enumerate(tree.nodes)
        )


def change_names(profile: Profile, change: Callable[[str], str]) -> Profile:
    """Return a profile with the names of its functions, files and threads changed, such as
    masked."""
    frames = tuple(
        replace(one, function=change(one.function), file=change(one.file), code="")
        for one in profile.frames
    )
    trees = tuple(replace(one, thread=change(one.thread)) for one in profile.trees)
    return replace(profile, frames=frames, trees=trees)
