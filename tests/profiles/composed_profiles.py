"""Profiles that are composed of stacks, without any process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy

from gpualert_common.profiles.frame_trees import SampledThread, build_trees
from gpualert_common.profiles.profile import Profile, ProfiledRank, TreeKind
from gpualert_common.profiles.sampled_stacks import Stack, ThreadStacks
from gpualert_common.stacks.dump import StackFrame

TORCH = "/venv/lib/python3.11/site-packages/torch/"
MAIN = StackFrame("<module>", "/job/train.py", 1, is_own=True)
TRAIN = StackFrame("train", "/job/train.py", 10, is_own=True)
FORWARD = StackFrame("forward", "/job/model.py", 20, is_own=True)
LOAD = StackFrame("load_batch", "/job/data.py", 41, is_own=True)
REDUCE = StackFrame("all_reduce", TORCH + "distributed/distributed_c10d.py", 3000)
LINEAR = StackFrame("Linear.forward", TORCH + "nn/modules/linear.py", 124)

WAITING: Stack = (MAIN, TRAIN, REDUCE)
LOADING: Stack = (MAIN, TRAIN, LOAD)
COMPUTING: Stack = (MAIN, TRAIN, FORWARD, LINEAR)

Counts = Mapping[Stack, int]


def make_profile(*ranks: Counts, workers: Mapping[int, Counts] | None = None) -> Profile:
    """Return the profile of ranks by the samples of their stacks, and of those of workers."""
    numbers: list[int | None] = list(range(len(ranks)))
    threads = [
        SampledThread(TreeKind.MAIN, number, ThreadStacks(100 + number, "MainThread", counts))
        for number, counts in enumerate(ranks)
    ]
    for number, counts in (workers or {}).items():
        stacks = ThreadStacks(200 + number, "MainThread", counts)
        threads.append(SampledThread(TreeKind.WORKERS, number, stacks))
    forest = build_trees(threads, numbers)
    return Profile(
        at=1_800_000_000.0,
        host="node7",
        reason="on request",
        duration_s=10.0,
        rate=100,
        ranks=tuple(
            ProfiledRank(number, 100 + number, sum(counts.values()))
            for number, counts in enumerate(ranks)
        ),
        frames=forest.frames,
        trees=forest.trees,
    )


def draw_counts(
    chance: numpy.random.Generator, shares: Mapping[Stack, float], samples: int
) -> dict[Stack, int]:
    """Return the samples of a rank that spends its time by these shares."""
    drawn = chance.multinomial(samples, list(shares.values()))
    return dict(zip(shares, map(int, drawn), strict=True))


def draw_phases(
    chance: numpy.random.Generator,
    shares: Mapping[Stack, float],
    samples: int,
    step: float,
    begin: float,
) -> dict[Stack, int]:
    """Return the samples of a rank whose steps take so many samples, from a place in a step on.

    As py-spy does, it is sampled at random intervals.
    """
    times = begin + numpy.cumsum(chance.exponential(size=samples))
    bounds = numpy.cumsum(list(shares.values()))[:-1]
    found = numpy.bincount(numpy.digitize(times % step / step, bounds), minlength=len(shares))
    return dict(zip(shares, map(int, found), strict=True))


def write_output(
    frames: Sequence[tuple[str, str, int]], threads: Mapping[str, Sequence[Sequence[int]]]
) -> bytes:
    """Return samples as py-spy writes them."""
    return json.dumps(
        {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "profiles": [
                {
                    "type": "sampled",
                    "name": name,
                    "unit": "seconds",
                    "startValue": 0.0,
                    "endValue": 1.0,
                    "samples": samples,
                    "weights": [0.01] * len(samples),
                }
                for name, samples in threads.items()
            ],
            "shared": {
                "frames": [
                    {"name": name, "file": file, "line": line, "col": None}
                    for name, file, line in frames
                ]
            },
            "activeProfileIndex": None,
            "exporter": "py-spy@0.4.3",
            "name": "py-spy profile",
        }
    ).encode()
