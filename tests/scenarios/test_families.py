"""Every family has scenarios and as many near misses; each gets the right verdict."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.classify import load_rules
from gpualert_common.diagnose.phenomena.starts import startup
from tests.scenarios.catalogue import CASES, Case, Outcome, by_family, is_crossed
from tests.scenarios.every import MODULES

VARIANTS = int(os.environ.get("SCENARIO_VARIANTS", "1"))
LEAST = 5
FAMILIES = (
    *("A1", "A2", "B1", "B2", "B3", "C1", "C2", "C3", "D1", "D2", "D3"),
    *("E1", "E2", "E3", "F2", "F3", "G1"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.name))
def test_scenario(case: Case, tmp_path: Path) -> None:
    """For all magnitudes, times and GPUs, cause, family and health are the same."""
    wrong: list[dict[str, Any]] = []
    for number in range(VARIANTS):
        scene = case.variant(number)
        verdict = scene.verdict(tmp_path)
        if case.compare(scene, verdict) is Outcome.WRONG:
            wrong.append({"number": number, "true": scene.cause, **verdict})
    assert not wrong, (len(wrong), wrong[0])


@pytest.mark.e2e
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.name))
def test_sources_missing(case: Case, tmp_path: Path) -> None:
    """Missing sources are named and never turn a fault of the machine into one of the job."""
    for number in range(VARIANTS):
        scene = case.variant(number, missing=True)
        verdict = scene.verdict(tmp_path)
        assert not is_crossed(scene, verdict), (number, verdict)
        unseen = {one["name"] for one in verdict["sources"] if not one["available"]}
        assert unseen >= set(scene.missing)
        assert "family_failed" not in [one["kind"] for one in verdict["warnings"]]


@pytest.mark.parametrize("family", FAMILIES)
def test_enough_of_each(family: str) -> None:
    """Each family has at least five scenarios and as many near misses."""
    assert MODULES
    (found,) = [(own, near) for name, own, near in by_family() if name == family]
    assert min(map(len, found)) >= LEAST
    assert len({case.name for case in CASES}) == len(CASES)


def test_causes_of_a_start() -> None:
    """The family of runs that failed before training has the causes of its rules."""
    assert {rule.id for rule in load_rules() if rule.family == "A1"} == startup.CAUSES
