"""Trees of frames: samples are kept, sizes are bounded."""

from __future__ import annotations

import random

from gpualert_common.profiles.frame_trees import OTHER, SampledThread, build_trees, fold_rare
from gpualert_common.profiles.profile import LEAST_SHARE, MOST_SAMPLES, TreeKind
from gpualert_common.profiles.rank_differences import list_own_counts
from gpualert_common.profiles.sampled_stacks import Stack, ThreadStacks
from gpualert_common.report.profile_lines import list_head
from gpualert_common.stacks.dump import StackFrame
from gpualert_common.structs import replace
from tests.profiles.composed_profiles import COMPUTING, LOADING, MAIN, WAITING, make_profile


def test_merged_counts() -> None:
    """Each node has the samples of each rank in it and below it, and its parent is before it."""
    profile = make_profile({LOADING: 30, WAITING: 70}, {COMPUTING: 100})
    (tree,) = profile.trees
    assert tree.samples == (100, 100)
    counts = {profile.frames[node.frame].function: node.counts for node in tree.nodes}
    assert counts == {
        "<module>": (100, 100),
        "train": (100, 100),
        "load_batch": (30, 0),
        "all_reduce": (70, 0),
        "forward": (0, 100),
        "Linear.forward": (0, 100),
    }
    assert profile.is_sound


def test_small_frames_become_one() -> None:
    """Frames below the least share are one node, so that no sample is lost."""
    rare: dict[Stack, int] = {
        (MAIN, StackFrame(f"f{n}", "/job/a.py", n + 1, is_own=True)): 1 for n in range(500)
    }
    profile = make_profile({(MAIN,): 9500, **rare})
    (tree,) = profile.trees
    names = [profile.frames[node.frame] for node in tree.nodes]
    assert len(names) == 2
    assert names[1] == OTHER
    assert tree.nodes[1].counts == (500,)


def test_limit_of_nodes() -> None:
    """A program with endless different stacks has a tree of bounded size, without lost samples."""
    chance = random.Random(1)
    frames = [StackFrame(f"f{n}", "/job/a.py", n + 1, is_own=True) for n in range(50)]
    stacks = {tuple(chance.choices(frames, k=40)): 1 for _ in range(1000)}
    plain: Stack = (MAIN,)
    profile = make_profile(stacks, *[{plain: 100}] * 63)
    (tree,) = profile.trees
    assert len(tree.nodes) <= 3125
    assert sum(counts[0] for counts in list_own_counts(tree)) == 1000


def test_raised_share() -> None:
    """The share below which functions are one is named where it is larger than usual."""
    chance = random.Random(1)
    frames = [StackFrame(f"f{n}", "/job/a.py", n + 1, is_own=True) for n in range(50)]
    stacks = {tuple(chance.choices(frames, k=40)): 5 for _ in range(200)}
    profile = make_profile(stacks, {(MAIN,): 100})
    assert profile.trees[0].least_share > LEAST_SHARE
    (note,) = [one for one in list_head(profile) if "(other)" in one]
    share = 100 * profile.trees[0].least_share
    assert note == f"ranks 0-1: functions below {share:.2g} % of the time are one, (other)"


def test_usual_share() -> None:
    """A tree within the limits has the usual share, of which nothing is said."""
    for samples in range(1, 2000, 7):
        profile = make_profile({LOADING: samples, WAITING: 2 * samples})
        assert profile.trees[0].least_share == LEAST_SHARE
    assert not any("(other)" in one for one in list_head(profile))


def test_limit_of_trees() -> None:
    """Threads of many names have a limited number of trees; the others are counted."""
    names = [f"pool {chr(ord('a') + number)}" for number in range(12)]
    threads = [
        SampledThread(TreeKind.THREAD, 0, ThreadStacks(number, name, {(MAIN,): 10 + number}))
        for number, name in enumerate(names)
    ]
    forest = build_trees(threads, [0])
    assert [one.thread for one in forest.trees] == names[:3:-1]
    assert forest.left_out == 4
    (note,) = [
        one
        for one in list_head(replace(make_profile({LOADING: 9}), left_out_trees=forest.left_out))
        if "left out" in one
    ]
    assert note == "threads of 4 more names are left out"


def test_threads_of_one_name() -> None:
    """Threads whose names differ only in numbers are one tree; those of workers only their rank."""
    forest = build_trees(
        [
            SampledThread(TreeKind.THREAD, rank, ThreadStacks(9, f"pool-{rank}", {(MAIN,): 10}))
            for rank in (0, 1)
        ],
        [0, 1],
    )
    assert forest.frames == (MAIN,)
    assert [(one.thread, one.samples) for one in forest.trees] == [("pool-N", (10, 10))]


def test_stack_of_a_fork() -> None:
    """A worker has only the frames from its start on, not those of the process that forked it."""
    start = StackFrame("BaseProcess.run", "/usr/lib/python3.11/multiprocessing/process.py", 103)
    forked: Stack = (MAIN, start, *LOADING[2:])
    profile = make_profile({LOADING: 10}, workers={0: {forked: 10}})
    workers = profile.trees[1]
    assert [profile.frames[node.frame].function for node in workers.nodes] == ["load_batch"]


def test_endless_different_stacks() -> None:
    """A thread with another stack in each of 60,000 samples costs seconds and not the memory."""
    chance = random.Random(2)
    frames = [StackFrame(f"f{n}", "/job/a.py", n + 1, is_own=True) for n in range(20)]
    stacks = {(MAIN, *chance.choices(frames, k=20)): 1 for _ in range(MOST_SAMPLES)}
    folded = fold_rare(ThreadStacks(1, "", stacks), 4000)
    assert sum(folded.stacks.values()) == MOST_SAMPLES
    nodes = {stack[:depth] for stack in folded.stacks for depth in range(1, len(stack) + 1)}
    assert len([one for one in nodes if one[-1] != OTHER]) <= 4000
