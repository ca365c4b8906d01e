"""Files for speedscope, by the types of its ``file-format-spec.ts``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpualert_common.profiles.profile import Profile
from gpualert_common.profiles.speedscope_file import make_speedscope
from tests.profiles.composed_profiles import COMPUTING, LOADING, MAIN, WAITING, make_profile

PROFILE = make_profile(
    {LOADING: 40, WAITING: 60}, {COMPUTING: 200}, workers={0: {LOADING: 5, (MAIN,): 5}}
)


def read(profile: Profile) -> dict[str, Any]:
    """Return the content of the file, once it is valid."""
    value: dict[str, Any] = json.loads(make_speedscope(profile, "run"))
    assert value["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(value) == {
        *("$schema", "name", "exporter", "activeProfileIndex", "shared", "profiles"),
    }
    for frame in value["shared"]["frames"]:
        assert set(frame) <= {"name", "file", "line", "col"}
        assert isinstance(frame["name"], str)
        assert isinstance(frame.get("line", 1), int)
    for one in value["profiles"]:
        assert set(one) == {
            *("type", "name", "unit", "startValue", "endValue", "samples", "weights"),
        }
        assert (one["type"], one["unit"]) == ("sampled", "seconds")
        assert len(one["samples"]) == len(one["weights"])
        assert all(weight > 0 for weight in one["weights"])
        assert sum(one["weights"]) == pytest.approx(one["endValue"] - one["startValue"], abs=1e-3)
        indices = [index for stack in one["samples"] for index in stack]
        assert all(0 <= index < len(value["shared"]["frames"]) for index in indices)
    return value


def test_profiles() -> None:
    """Each kind of thread has a merged profile, and one for each of several ranks."""
    value = read(PROFILE)
    assert [one["name"] for one in value["profiles"]] == [
        "ranks 0-1",
        "ranks 0-1: rank 0",
        "ranks 0-1: rank 1",
        "workers of rank 0",
    ]
    assert [one["endValue"] for one in value["profiles"]] == pytest.approx([10.0] * 4)


def test_weights() -> None:
    """The time of a stack is the share of its samples in the duration; merged, the mean."""
    value = read(PROFILE)
    names = [one["name"] for one in value["shared"]["frames"]]
    for profile, expected in zip(value["profiles"], (2.0, 4.0, 0.0), strict=False):
        found = sum(
            weight
            for stack, weight in zip(profile["samples"], profile["weights"], strict=True)
            if names[stack[-1]] == "load_batch"
        )
        assert found == pytest.approx(expected)
