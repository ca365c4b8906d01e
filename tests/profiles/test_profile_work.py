"""Work for a profile: bounded by its nodes, and the differences are found once for each output."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from gpualert_common.profiles.flame_graph import draw_flame_graph
from gpualert_common.profiles.profile import Profile
from gpualert_common.profiles.rank_differences import find_differences
from gpualert_common.profiles.sampled_stacks import Stack
from gpualert_common.report.profile_lines import render_profile
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.stacks.dump import StackFrame
from tests.profiles.composed_profiles import COMPUTING, LOADING, MAIN, TORCH, make_profile

ALIKE = make_profile({COMPUTING: 500}, {COMPUTING: 500})
SLOW = make_profile({COMPUTING: 900, LOADING: 100}, {COMPUTING: 100, LOADING: 900})


def count_calls(work: Callable[[], object], name: str = "") -> int:
    """Return how many functions of Python some work calls, or those of a name."""
    calls = 0

    def count(frame: FrameType, event: str, _value: object) -> None:
        nonlocal calls
        calls += event == "call" and name in ("", frame.f_code.co_name)

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_deep_stacks() -> None:
    """A tree of thousands of deep stacks of a library takes some dozen calls for each node."""
    chance = random.Random(1)
    frames = [StackFrame(f"f{n}", f"{TORCH}nn/modules/m{n % 97}.py", n + 1) for n in range(400)]
    deep = [(MAIN, *chance.choices(frames, k=100)) for _ in range(40)]
    stacks: dict[Stack, int] = {one[:size]: 5 for one in deep for size in range(2, 102)}
    profile = make_profile(stacks, {**stacks, LOADING: 5000})
    nodes = len(profile.trees[0].nodes)
    assert nodes > 3500
    assert count_calls(lambda: find_differences(profile)) <= 50 * nodes


@pytest.mark.parametrize("profile", [ALIKE, SLOW], ids=["alike", "slow"])
def test_differences_are_found_once(profile: Profile) -> None:
    """Text and picture of a profile each find its differences once."""
    text = TextSanitizer(NoMasks())
    assert count_calls(lambda: render_profile(profile, text), find_differences.__name__) == 1
    assert count_calls(lambda: draw_flame_graph(profile), find_differences.__name__) == 1
