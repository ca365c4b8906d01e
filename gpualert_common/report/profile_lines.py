"""Profile of a run as lines of text: the finding, and the places that take the time."""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.profiles.profile import LEAST_SHARE, FrameTree, Profile
from gpualert_common.profiles.rank_differences import find_differences
from gpualert_common.profiles.rank_texts import (
    describe_findings,
    list_hot_places,
    name_rank,
    name_tree,
)
from gpualert_common.report.formatting import time
from gpualert_common.report.text_sanitizer import TextSanitizer

_MOST_TREES = 4
_MOST_PLACES = 12
_MANY_ERRORS = 0.05
_LONG_SPREAD_S = 1.0
_LONG_SPREAD = 0.1
"""Of the time for which the processes are sampled."""


def render_profile(profile: Profile, text: TextSanitizer, *, cwd: str | None = None) -> list[str]:
    """Return the lines of a profile: what differs first, then the time of each kind of thread."""
    lines = [text.line(line) for line in list_head(profile, cwd)]
    for tree in profile.trees[:_MOST_TREES]:
        if any(tree.samples):
            lines.append("")
            lines += [text.log_line(line) for line in _render_tree(profile, tree, cwd)]
    return lines


def list_head(profile: Profile, cwd: str | None = None) -> Iterator[str]:
    """Yield the sentences about a profile, not yet masked."""
    samples = sum(one.samples for one in profile.ranks)
    pause = ", paused for each sample" if profile.is_pausing else " without pausing them"
    count = len(profile.ranks)
    noun = "process" if count == 1 else "processes"
    yield (
        f"{count} {noun} on {profile.host}, {time(profile.at, 'local')}, sampled for "
        f"{profile.duration_s:g} s at {profile.rate}/s{pause}: {samples} stacks ({profile.reason})"
    )
    for sentence in describe_findings(profile, find_differences(profile), cwd):
        yield sentence[0].upper() + sentence[1:]
    for column, one in enumerate(profile.ranks):
        if one.problem:
            yield f"{name_rank(profile, column)}: {one.problem}"
        if one.errors > _MANY_ERRORS * (one.samples + one.errors):
            yield (
                f"{name_rank(profile, column)}: {one.errors} stacks could not be read, so its "
                "shares are uncertain"
            )
    yield from profile.problems
    yield from _list_limits(profile)


def _list_limits(profile: Profile) -> Iterator[str]:
    """Yield what limits a profile, and what it does not have."""
    if profile.spread_s > min(_LONG_SPREAD_S, _LONG_SPREAD * profile.duration_s):
        yield (
            f"the processes are not sampled for the same seconds: the last began "
            f"{profile.spread_s:.1f} s after the first"
        )
    for tree in profile.trees:
        if tree.least_share > LEAST_SHARE:
            yield (
                f"{name_tree(profile, tree)}: functions below {100 * tree.least_share:.2g} % of "
                "the time are one, (other)"
            )
    if profile.left_out:
        yield f"{profile.left_out} more processes are left out"
    if profile.left_out_threads:
        yield f"{profile.left_out_threads} more threads are left out"
    if profile.left_out_trees:
        yield f"threads of {profile.left_out_trees} more names are left out"
    if profile.idle_threads:
        yield f"{profile.idle_threads} idle threads are left out; --idle shows them"


def _render_tree(profile: Profile, tree: FrameTree, cwd: str | None) -> Iterator[str]:
    """Yield the places of one kind of thread, of several ranks with their range."""
    ranks = sum(map(bool, tree.samples))
    yield f"{name_tree(profile, tree)}: share of the time" + (", mean and range" * (ranks > 1))
    for one in list_hot_places(profile, tree, cwd, _MOST_PLACES):
        extent = f"  {100 * one.least:3.0f} - {100 * one.most:3.0f} %" if ranks > 1 else ""
        who = f"  (most: {one.most_rank})" if one.most - one.least >= 0.1 and ranks > 1 else ""
        yield f"  {100 * one.share:3.0f} %{extent}  {one.text}{who}"
