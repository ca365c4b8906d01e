"""Frames in which some ranks spend a larger share of their time than the others.

A rank that waits for others in a collective operation shows only that another one is late, so that
the time outside such operations is compared first; the waits count where that shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpualert_common.median import median
from gpualert_common.profiles.outliers import find_outliers, list_compared
from gpualert_common.profiles.profile import FrameTree, Profile, TreeKind
from gpualert_common.stacks.activities import (
    WAITS_FOR_RANKS,
    StackActivity,
    choose_activity,
    find_frame_activity,
)
from gpualert_common.stacks.dump import StackFrame
from gpualert_common.structs import Struct

_PART = 0.6
"""A place with most of the largest excess explains it, and an inner one of the user's code says
more."""
_MOST_FOUND = 3
_WAITS = WAITS_FOR_RANKS | {StackActivity.LAUNCHER}
_WORKER_WAITS = frozenset((StackActivity.QUEUE,))
_QUEUES = ("multiprocessing/queues.py", "multiprocessing/connection.py")
"""Files of the functions in which a worker waits for work."""


class RankDifference(Struct, frozen=True):
    """A frame in which some ranks spend more time than the others.

    ``ranks`` are their columns in the profile, ``compared`` those of the others with enough
    samples.  ``share`` is the median of their shares and ``others`` that of the others.
    ``caller`` is the function of the user's own code that called a library there.
    ``is_outside_waits`` says that the time in collective operations below the frame is not counted,
    ``is_wait`` that only waits for other ranks differ.
    """

    kind: TreeKind
    thread: str
    frame: StackFrame
    ranks: tuple[int, ...]
    compared: tuple[int, ...]
    share: float
    others: float
    caller: StackFrame | None = None
    is_outside_waits: bool = False
    is_wait: bool = False


class _Place(Struct, frozen=True):
    """Samples of a frame at all its nodes, by rank.

    ``depth`` is that of its first node, and ``caller`` the nearest frame of the user's own code
    above it.
    """

    frame: int
    depth: int
    caller: StackFrame | None
    all: tuple[int, ...]
    working: tuple[int, ...]


class _Excess(Struct, frozen=True):
    """A frame in which some ranks have the larger share."""

    place: _Place
    share: float
    others: float

    @property
    def size(self) -> float:
        """Difference of the shares."""
        return self.share - self.others


def find_differences(profile: Profile) -> list[RankDifference]:
    """Return the places that differ, the largest first; main threads before workers."""
    return [one for tree in profile.trees for one in _find_in_tree(profile, tree)[:_MOST_FOUND]]


def list_working_counts(profile: Profile, tree: FrameTree) -> list[tuple[int, ...]]:
    """Return the samples of each node of a tree, without those in which a rank may wait for
    others."""
    waits = _WORKER_WAITS if tree.kind is TreeKind.WORKERS else _WAITS
    working: list[Sequence[int]] = [
        [0] * len(counts) if activity in waits else counts
        for activity, counts in zip(
            _list_activities(profile, tree), list_own_counts(tree), strict=True
        )
    ]
    for index in range(len(tree.nodes) - 1, -1, -1):
        parent = tree.nodes[index].parent
        if parent >= 0:
            working[parent] = _add(working[parent], working[index])
    return [tuple(one) for one in working]


def list_own_counts(tree: FrameTree) -> list[list[int]]:
    """Return the samples of each node that are in no node below it."""
    own = [list(node.counts) for node in tree.nodes]
    for node in tree.nodes:
        if node.parent >= 0:
            own[node.parent] = _subtract(own[node.parent], node.counts)
    return own


def list_stack(profile: Profile, tree: FrameTree, index: int) -> Iterator[StackFrame]:
    """Yield the frames of a node, the innermost first."""
    while index >= 0:
        node = tree.nodes[index]
        yield profile.frames[node.frame]
        index = node.parent


def _list_activities(profile: Profile, tree: FrameTree) -> list[StackActivity]:
    """Return the activity of each node, by its frame and those above it up to the user's code."""
    find = _find_queue if tree.kind is TreeKind.WORKERS else find_frame_activity
    of_frames = {one: find(profile.frames[one]) for one in {node.frame for node in tree.nodes}}
    found: list[StackActivity] = []
    for node in tree.nodes:
        if profile.frames[node.frame].is_own:
            found.append(StackActivity.NONE)
        else:
            outer = found[node.parent] if node.parent >= 0 else StackActivity.NONE
            found.append(choose_activity((of_frames[node.frame], outer)))
    return found


def _find_queue(frame: StackFrame) -> StackActivity:
    return StackActivity.QUEUE if frame.file.endswith(_QUEUES) else StackActivity.NONE


def _find_in_tree(profile: Profile, tree: FrameTree) -> list[RankDifference]:
    places = list(_list_places(profile, tree))
    working = list(_find_places(profile, tree, places, is_working=True))
    return working or list(_find_places(profile, tree, places, is_working=False))


def _list_places(profile: Profile, tree: FrameTree) -> Iterator[_Place]:
    """Yield each frame of a tree with its samples; one that calls itself counts once."""
    working = list_working_counts(profile, tree)
    above: list[frozenset[int]] = []
    firsts: dict[int, int] = {}
    found: dict[int, tuple[list[int], list[int]]] = {}
    for index, (node, without_waits) in enumerate(zip(tree.nodes, working, strict=True)):
        outer = above[node.parent] if node.parent >= 0 else frozenset[int]()
        above.append(outer | {node.frame})
        if node.frame not in outer:
            firsts.setdefault(node.frame, index)
            sums = found.setdefault(node.frame, ([0] * len(node.counts), [0] * len(node.counts)))
            found[node.frame] = (_add(sums[0], node.counts), _add(sums[1], without_waits))
    for frame, (every, outside) in found.items():
        _innermost, *callers = list_stack(profile, tree, firsts[frame])
        own = (one for one in callers if one.is_own)
        yield _Place(frame, len(callers), next(own, None), tuple(every), tuple(outside))


def _find_places(
    profile: Profile, tree: FrameTree, places: Iterable[_Place], *, is_working: bool
) -> Iterator[RankDifference]:
    """Yield one difference for each set of ranks, the largest first."""
    found: dict[tuple[int, ...], list[_Excess]] = {}
    for place in places:
        counts = place.working if is_working else place.all
        outliers = find_outliers(counts, tree.samples)
        if outliers and profile.frames[place.frame].file:
            share = _find_share(counts, tree.samples, outliers)
            others = _find_share(counts, tree.samples, _list_rest(tree, outliers))
            found.setdefault(outliers, []).append(_Excess(place, share, others))
    for outliers, excesses in sorted(found.items(), key=lambda item: -_find_largest(item[1])):
        chosen = _choose_place(profile, tree, excesses)
        frame = profile.frames[chosen.place.frame]
        yield RankDifference(
            kind=tree.kind,
            thread=tree.thread,
            frame=frame,
            ranks=outliers,
            compared=_list_rest(tree, outliers),
            share=round(chosen.share, 4),
            others=round(chosen.others, 4),
            caller=None if frame.is_own else chosen.place.caller,
            is_outside_waits=is_working and not _differs_with_waits(tree, chosen.place),
            is_wait=not is_working,
        )


def _choose_place(profile: Profile, tree: FrameTree, excesses: Sequence[_Excess]) -> _Excess:
    """Return the frame that explains a difference.

    Of the frames with most of the excess it is the innermost one of the user's own code.  A frame
    that differs only by the waits below it says little: then it is the function of a library that
    it calls, if one has the excess.
    """
    least = _PART * _find_largest(excesses)
    near = sorted((one for one in excesses if one.size >= least), key=lambda one: one.place.depth)
    own = [one for one in near if profile.frames[one.place.frame].is_own]
    if not own:
        return near[0]
    inner = own[-1]
    called = [one for one in near if one.place.depth > inner.place.depth]
    if called and not _differs_with_waits(tree, inner.place):
        return called[0]
    return inner


def _differs_with_waits(tree: FrameTree, place: _Place) -> bool:
    """Return whether the ranks differ in a frame also where the waits below it are counted."""
    return bool(find_outliers(place.all, tree.samples))


def _find_largest(excesses: Iterable[_Excess]) -> float:
    return max(one.size for one in excesses)


def _list_rest(tree: FrameTree, outliers: Sequence[int]) -> tuple[int, ...]:
    excluded = frozenset(outliers)
    return tuple(one for one in list_compared(tree.samples) if one not in excluded)


def _find_share(counts: Sequence[int], samples: Sequence[int], columns: Iterable[int]) -> float:
    """Return the median share of some ranks."""
    return median(counts[column] / samples[column] for column in columns)


def _add(one: Sequence[int], other: Sequence[int]) -> list[int]:
    return [left + right for left, right in zip(one, other, strict=True)]


def _subtract(one: Sequence[int], other: Sequence[int]) -> list[int]:
    return [left - right for left, right in zip(one, other, strict=True)]
