"""Profiles in sentences: the places that take the time, and those that differ between ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile

from gpualert_common.median import median
from gpualert_common.processes.rank_names import name_ranks
from gpualert_common.profiles.outliers import list_compared
from gpualert_common.profiles.profile import FrameTree, Profile, TreeKind
from gpualert_common.profiles.rank_differences import (
    RankDifference,
    find_differences,
    list_own_counts,
    list_stack,
)
from gpualert_common.stacks.description import shorten_file
from gpualert_common.stacks.dump import StackFrame
from gpualert_common.structs import Struct

_LEAST_SHOWN = 0.01


class HotPlace(Struct, frozen=True):
    """A place that takes time: its mean share over the ranks, and the extremes with their ranks."""

    text: str
    share: float
    least: float
    least_rank: str
    most: float
    most_rank: str


def summarize(profile: Profile, cwd: str | None = None) -> str:
    """Return the finding of a profile in one sentence."""
    return describe_findings(profile, find_differences(profile), cwd)[0]


def describe_findings(
    profile: Profile, found: Sequence[RankDifference], cwd: str | None = None
) -> list[str]:
    """Return a sentence for each difference of a profile; without any, one about its time."""
    return [describe_difference(profile, one, cwd) for one in found] or [
        _describe_time(profile, cwd)
    ]


def _describe_time(profile: Profile, cwd: str | None) -> str:
    if not profile.trees:
        return "no stack of a process could be sampled"
    tree = profile.trees[0]
    hot = list_hot_places(profile, tree, cwd, most=2)
    places = " and ".join(f"{_percent(one.share)} in {one.text}" for one in hot)
    is_one = tree.kind is TreeKind.MAIN and sum(map(bool, tree.samples)) == 1
    verb = "spends its time so" if is_one else "spend their time alike"
    return f"{name_tree(profile, tree)} {verb}: {places or 'no place has 1 % of it'}"


def describe_difference(profile: Profile, one: RankDifference, cwd: str | None = None) -> str:
    """Return a difference, as in "rank 3 spends 62 % of its time in load_batch (data.py:41), the
    others 4 % (median)"."""
    is_one = len(one.ranks) == 1
    ranks = _name_columns(profile, one.ranks)
    if one.kind is TreeKind.WORKERS:
        ranks, is_one = f"the workers of {ranks}", False
    elif one.kind is TreeKind.THREAD:
        ranks = f"thread {one.thread} of {ranks}"
    verb, whose = ("spends", "its") if is_one else ("spend", "their")
    place = name_frame(one.frame, cwd)
    place += f", called by {name_frame(one.caller, cwd)}" if one.caller is not None else ""
    place += " outside collective operations" if one.is_outside_waits else ""
    is_pair = len(one.compared) == 1
    others = f"{_name_columns(profile, one.compared)} only" if is_pair else "the others"
    middle = "" if is_pair else " (median)"
    return (
        f"{ranks} {verb} {_percent(one.share)} of {whose} time in {place}, {others} "
        f"{_percent(one.others)}{middle}"
    )


def list_hot_places(
    profile: Profile, tree: FrameTree, cwd: str | None = None, most: int = 12
) -> list[HotPlace]:
    """Return the places with the largest shares: the innermost frames of the user's own code, with
    the function of a library that they call."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * len(profile.ranks))
    for index, counts in enumerate(list_own_counts(tree)):
        if any(counts):
            place = _name_place(list(list_stack(profile, tree, index)), cwd)
            sums[place] = [one + count for one, count in zip(sums[place], counts, strict=True)]
    columns = [column for column, total in enumerate(tree.samples) if total]
    found = []
    for text, counts in sums.items():
        shares = {column: counts[column] / tree.samples[column] for column in columns}
        mean = sum(shares.values()) / len(shares)
        least, top = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
        if shares[top] >= _LEAST_SHOWN:
            names = (_name_columns(profile, (least,)), _name_columns(profile, (top,)))
            found.append(HotPlace(text, mean, shares[least], names[0], shares[top], names[1]))
    return sorted(found, key=lambda one: (-one.share, one.text))[:most]


def describe_shares(
    profile: Profile, tree: FrameTree, counts: Sequence[int], outliers: Sequence[int]
) -> str:
    """Return the shares of the ranks in a frame: the mean and the extremes, or of the ranks that
    differ and of the others."""
    columns = [column for column, total in enumerate(tree.samples) if total]
    shares = {column: counts[column] / tree.samples[column] for column in columns}
    if len(columns) == 1:
        return f"{_percent(shares[columns[0]])} of the time"
    rest = [shares[column] for column in list_compared(tree.samples) if column not in outliers]
    if outliers and rest:
        more = _percent(median([shares[column] for column in outliers]))
        return f"{_name_columns(profile, outliers)}: {more}; the others: {_percent(median(rest))}"
    mean = _percent(sum(shares.values()) / len(shares))
    least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    return (
        f"{mean} of the time (mean); {_percent(shares[least])} in "
        f"{_name_columns(profile, (least,))} to {_percent(shares[most])} in "
        f"{_name_columns(profile, (most,))}"
    )


def name_frame(frame: StackFrame, cwd: str | None = None) -> str:
    """Return a frame with its place, as in "load_batch (data.py:41)"."""
    if not frame.file:
        return frame.function
    line = f":{frame.line}" if frame.line else ""
    return f"{frame.function} ({shorten_file(frame.file, cwd)}{line})"


def name_rank(profile: Profile, column: int) -> str:
    """Return the name of the rank of a column."""
    return _name_columns(profile, (column,))


def name_tree(profile: Profile, tree: FrameTree) -> str:
    """Return the name of a tree, as in "workers of ranks 0-3"."""
    columns = [column for column, total in enumerate(tree.samples) if total]
    ranks = _name_columns(profile, columns)
    match tree.kind:
        case TreeKind.MAIN:
            return ranks
        case TreeKind.WORKERS:
            return f"workers of {ranks}"
        case TreeKind.THREAD:
            return f"thread {tree.thread} of {ranks}"


def _name_place(stack: Sequence[StackFrame], cwd: str | None) -> str:
    """Return a stack, innermost frame first, in short form."""
    inner = list(takewhile(lambda frame: not frame.is_own, stack))
    if len(inner) == len(stack):
        return name_frame(stack[0], cwd)
    own = name_frame(stack[len(inner)], cwd)
    called = [one for one in inner if one.file and not one.function.endswith("wrapper")]
    return f"{called[-1].function}, called by {own}" if called else own


def _name_columns(profile: Profile, columns: Sequence[int]) -> str:
    numbers = [one for column in columns if (one := profile.ranks[column].number) is not None]
    return name_ranks(numbers) if numbers else "the program"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
