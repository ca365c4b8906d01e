"""Trees of frames with the samples of each rank, merged from the stacks of their threads."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpualert_common.profiles.profile import FrameNode, FrameTree, TreeKind
from gpualert_common.profiles.sampled_stacks import Stack, ThreadStacks
from gpualert_common.stacks.dump import StackFrame
from gpualert_common.structs import Struct

OTHER = StackFrame("(other)", "", 0)
"""Stands for frames that take less than the smallest share."""
LEAST_SHARE = 0.001
"""Of ten seconds at 100 samples per second this is one sample."""
_MOST_NODES = 4000
_MOST_COUNTS = 200_000
"""Nodes times ranks of one tree."""
_MOST_TREES = 8
_WORKER_START = "multiprocessing/process.py"
_NUMBER = re.compile(r"\d+")


class SampledThread(Struct, frozen=True):
    """The stacks of one thread, and the tree of the rank to which they belong."""

    kind: TreeKind
    rank: int | None
    thread: ThreadStacks


class _Branch:
    """A node while its tree is built."""

    __slots__ = ("below", "counts")

    def __init__(self, size: int) -> None:
        self.counts = [0] * size
        self.below: dict[StackFrame, _Branch] = {}


def build_trees(
    threads: Iterable[SampledThread], ranks: Sequence[int | None]
) -> tuple[tuple[StackFrame, ...], tuple[FrameTree, ...]]:
    """Return all frames, and the trees: of main threads first, then of those with most samples.

    Threads of one name are merged, whatever numbers are in it.  Frames below a share of all ranks
    become one, and the trees beyond the limit are left out.
    """
    grouped: dict[tuple[TreeKind, str], list[SampledThread]] = defaultdict(list)
    for one in threads:
        name = _name_thread(one.thread.name) if one.kind is TreeKind.THREAD else ""
        grouped[one.kind, name].append(one)
    columns = {rank: column for column, rank in enumerate(ranks)}
    order = sorted(grouped, key=lambda key: (list(TreeKind).index(key[0]), -_count(grouped[key])))
    frames: dict[StackFrame, int] = {}
    trees = tuple(
        _build_tree(kind, name, grouped[kind, name], columns, frames)
        for kind, name in order[:_MOST_TREES]
    )
    return tuple(frames), trees


def _name_thread(name: str) -> str:
    return _NUMBER.sub("N", name) or "without a name"


def _count(threads: Iterable[SampledThread]) -> int:
    return sum(sum(one.thread.stacks.values()) for one in threads)


def _build_tree(
    kind: TreeKind,
    name: str,
    threads: Iterable[SampledThread],
    columns: Mapping[int | None, int],
    frames: dict[StackFrame, int],
) -> FrameTree:
    root = _Branch(len(columns))
    for one in threads:
        for stack, count in one.thread.stacks.items():
            shown = _cut_worker(stack) if kind is TreeKind.WORKERS else stack
            _add_stack(root, shown, columns[one.rank], count)
    least, most = LEAST_SHARE, min(_MOST_NODES, max(200, _MOST_COUNTS // len(columns)))
    while (size := _count_kept(root, root.counts, least)) > most:
        least *= 1.5 if size < 2 * most else 2
    nodes = tuple(_list_nodes(root, least, frames))
    return FrameTree(kind, tuple(root.counts), nodes, name)


def _cut_worker(stack: Stack) -> Stack:
    """Return the frames of a worker without those of its start; a fork has all of its parent."""
    starts = [index for index, one in enumerate(stack) if one.file.endswith(_WORKER_START)]
    return stack[starts[-1] + 1 :] if starts else stack


def _add_stack(root: _Branch, stack: Stack, column: int, count: int) -> None:
    branch = root
    branch.counts[column] += count
    for frame in stack:
        below = branch.below.get(frame)
        if below is None:
            below = branch.below[frame] = _Branch(len(root.counts))
        below.counts[column] += count
        branch = below


def _is_kept(branch: _Branch, totals: Sequence[int], least: float) -> bool:
    """Return whether any rank spends that share in a branch."""
    return any(count > least * total for count, total in zip(branch.counts, totals, strict=True))


def _count_kept(root: _Branch, totals: Sequence[int], least: float) -> int:
    size, pending = 0, [root]
    while pending:
        kept = [one for one in pending.pop().below.values() if _is_kept(one, totals, least)]
        size += len(kept)
        pending += kept
    return size


def _list_nodes(root: _Branch, least: float, frames: dict[StackFrame, int]) -> Iterator[FrameNode]:
    """Yield the nodes, each before those below it, the larger first."""
    totals = root.counts
    index = 0
    pending: list[tuple[int, StackFrame, Sequence[int], _Branch | None]] = [
        *_list_below(-1, root, totals, least)
    ]
    while pending:
        parent, frame, counts, branch = pending.pop()
        yield FrameNode(parent, frames.setdefault(frame, len(frames)), tuple(counts))
        if branch is not None:
            pending += _list_below(index, branch, totals, least)
        index += 1


def _list_below(
    parent: int, branch: _Branch, totals: Sequence[int], least: float
) -> list[tuple[int, StackFrame, Sequence[int], _Branch | None]]:
    """Return the entries below a node, the one to take first at the end; small ones as one."""
    kept, small = [], [0] * len(totals)
    for frame, below in branch.below.items():
        if _is_kept(below, totals, least):
            kept.append((parent, frame, below.counts, below))
        else:
            small = [one + count for one, count in zip(small, below.counts, strict=True)]
    kept.sort(key=lambda entry: sum(entry[2]))
    other = [(parent, OTHER, small, None)] if any(small) else []
    return [*other, *kept]
