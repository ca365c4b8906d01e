"""Trees of frames with the samples of each rank, merged from the stacks of their threads."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpualert_common.profiles.profile import LEAST_SHARE, FrameNode, FrameTree, TreeKind
from gpualert_common.profiles.sampled_stacks import Stack, ThreadStacks
from gpualert_common.stacks.dump import StackFrame
from gpualert_common.structs import Struct, replace

OTHER = StackFrame("(other)", "", 0)
"""Stands for frames that take less than the smallest share."""
MOST_NODES = 4000
_MOST_COUNTS = 200_000
"""Nodes times ranks of one tree."""
_MOST_TREES = 8
_WORKER_START = "multiprocessing/process.py"
_NUMBER = re.compile(r"\d+")


class Forest(Struct, frozen=True):
    """All frames, and the trees of them; ``left_out`` counts the trees beyond the limit."""

    frames: tuple[StackFrame, ...]
    trees: tuple[FrameTree, ...]
    left_out: int


class SampledThread(Struct, frozen=True):
    """The stacks of one thread, and the tree of the rank to which they belong."""

    kind: TreeKind
    rank: int | None
    thread: ThreadStacks


class _Branch:
    """A node while its tree is built, with the samples of each column that has some."""

    __slots__ = ("below", "counts")

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.below: dict[StackFrame, _Branch] = {}


def build_trees(threads: Iterable[SampledThread], ranks: Sequence[int | None]) -> Forest:
    """Return the trees: of main threads first, then of those with most samples.

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
    return Forest(tuple(frames), trees, len(order) - len(trees))


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
    size = len(columns)
    most = min(MOST_NODES, max(200, _MOST_COUNTS // size))
    root = _Branch()
    folded_share = 0.0
    for one in threads:
        folded = fold_rare(one.thread, most)
        folded_share = max(folded_share, folded.least_share)
        for stack, count in folded.stacks.items():
            shown = _cut_worker(stack) if kind is TreeKind.WORKERS else stack
            _add_stack(root, shown, columns[one.rank], count)
    least = LEAST_SHARE
    while (kept := _count_kept(root, least)) > most:
        least *= 1.5 if kept < 2 * most else 2
    totals = tuple(root.counts[column] for column in range(size))
    nodes = tuple(_list_nodes(root, least, size, frames))
    return FrameTree(kind, totals, nodes, name, max(least, folded_share))


def fold_rare(thread: ThreadStacks, most: int) -> ThreadStacks:
    """Return a thread with its rare frames as one, so that its stacks have at most so many nodes;
    no sample is lost.

    A thread may have a different stack in each of 60,000 samples.
    """
    total = sum(thread.stacks.values())
    least, share = LEAST_SHARE * total, max(LEAST_SHARE, thread.least_share)
    while (folded := _fold(thread.stacks, least, most)) is None:
        least = max(1.0, 2 * least)
        share = max(share, least / total)
    return replace(thread, stacks=folded, least_share=share)


def _fold(stacks: Mapping[Stack, int], least: float, most: int) -> Mapping[Stack, int] | None:
    """Return the stacks with the frames that have at most so many samples as one; None if more
    nodes than that are left."""
    found: Counter[Stack] = Counter()
    nodes = 0
    pending = [(0, list(stacks.items()))]
    while pending:
        depth, group = pending.pop()
        below: dict[StackFrame, list[tuple[Stack, int]]] = defaultdict(list)
        for stack, count in group:
            if len(stack) == depth:
                found[stack] += count
            else:
                below[stack[depth]].append((stack, count))
        for entries in below.values():
            count = sum(count for _stack, count in entries)
            if count > least:
                nodes += 1
                pending.append((depth + 1, entries))
            else:
                found[(*entries[0][0][:depth], OTHER)] += count
        if nodes > most:
            return None
    return found


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
            below = branch.below[frame] = _Branch()
        below.counts[column] += count
        branch = below


def _is_kept(branch: _Branch, totals: Mapping[int, int], least: float) -> bool:
    """Return whether any rank spends that share in a branch."""
    return any(count > least * totals[column] for column, count in branch.counts.items())


def _count_kept(root: _Branch, least: float) -> int:
    size, pending = 0, [root]
    while pending:
        kept = [one for one in pending.pop().below.values() if _is_kept(one, root.counts, least)]
        size += len(kept)
        pending += kept
    return size


_Entry = tuple[int, StackFrame, Counter[int], _Branch | None]
"""A node to yield: the index of its parent, its frame, its samples, and its branch."""


def _list_nodes(
    root: _Branch, least: float, size: int, frames: dict[StackFrame, int]
) -> Iterator[FrameNode]:
    """Yield the nodes, each before those below it, the larger first."""
    index = 0
    pending = _list_below(-1, root, root.counts, least)
    while pending:
        parent, frame, counts, branch = pending.pop()
        row = tuple(counts[column] for column in range(size))
        yield FrameNode(parent, frames.setdefault(frame, len(frames)), row)
        if branch is not None:
            pending += _list_below(index, branch, root.counts, least)
        index += 1


def _list_below(
    parent: int, branch: _Branch, totals: Mapping[int, int], least: float
) -> list[_Entry]:
    """Return the entries below a node, the one to take first at the end; small ones as one."""
    kept: list[_Entry] = []
    small: Counter[int] = Counter()
    for frame, below in branch.below.items():
        if frame != OTHER and _is_kept(below, totals, least):
            kept.append((parent, frame, below.counts, below))
        else:
            small += below.counts
    kept.sort(key=lambda entry: entry[2].total())
    other: list[_Entry] = [(parent, OTHER, small, None)] if small else []
    return [*other, *kept]
