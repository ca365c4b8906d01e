"""A profile in the file format of speedscope: one sampled profile for each rank, and one merged.

https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from gpualert_common._version import __version__
from gpualert_common.profiles.profile import FrameTree, Profile
from gpualert_common.profiles.rank_differences import list_own_counts
from gpualert_common.profiles.rank_texts import name_rank, name_tree

SCHEMA_URL = "https://www.speedscope.app/file-format-schema.json"
_DIGITS = 6


def make_speedscope(profile: Profile, name: str) -> bytes:
    """Return the profile as JSON.  Times are in seconds, those of the merged profile are means."""
    profiles = [one for tree in profile.trees for one in _make_profiles(profile, tree)]
    frames = [
        {"name": one.function, **({"file": one.file} if one.file else {})}
        | ({"line": one.line} if one.line else {})
        for one in profile.frames
    ]
    value = {
        "$schema": SCHEMA_URL,
        "name": name,
        "exporter": f"gpualert {__version__}",
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
        "profiles": profiles,
    }
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _make_profiles(profile: Profile, tree: FrameTree) -> Iterator[dict[str, object]]:
    """Yield the merged profile of a tree, and those of its ranks if there are several."""
    stacks: list[list[int]] = []
    for node in tree.nodes:
        outer = stacks[node.parent] if node.parent >= 0 else []
        stacks.append([*outer, node.frame])
    own = list_own_counts(tree)
    columns = [column for column, total in enumerate(tree.samples) if total]
    means = [
        sum(counts[column] / tree.samples[column] for column in columns) / len(columns)
        for counts in own
    ]
    title = name_tree(profile, tree)
    yield _make_profile(title, stacks, [one * profile.duration_s for one in means])
    if len(columns) > 1:
        for column in columns:
            scale = profile.duration_s / tree.samples[column]
            seconds = [counts[column] * scale for counts in own]
            yield _make_profile(f"{title}: {name_rank(profile, column)}", stacks, seconds)


def _make_profile(
    name: str, stacks: Sequence[list[int]], seconds: Sequence[float]
) -> dict[str, object]:
    weights = [round(one, _DIGITS) for one in seconds]
    kept = [(stack, weight) for stack, weight in zip(stacks, weights, strict=True) if weight > 0]
    return {
        "type": "sampled",
        "name": name,
        "unit": "seconds",
        "startValue": 0,
        "endValue": round(sum(weight for _stack, weight in kept), _DIGITS),
        "samples": [stack for stack, _weight in kept],
        "weights": [weight for _stack, weight in kept],
    }
