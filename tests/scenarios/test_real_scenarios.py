"""Scenarios with a real child: enough of each family, and some whose verdict needs no time.

``make scenarios`` runs all of them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.scenarios.catalogue import CASES, Case, Outcome
from tests.scenarios.every import MODULES
from tests.scenarios.real_run import is_playable, play
from tests.supervised import Lab

SHARE = 1 / 3
AT_ONCE = (
    "without_a_module",
    "gpu_request_too_large",
    "blocking_launches",
    "passed_over",
    "nan_to_the_end",
    "cut_short_in_a_trainer",
    "trained_by_hand",
)


@pytest.mark.parametrize("family", sorted({case.of for case in CASES}))
def test_enough_are_real(family: str) -> None:
    """At least a third of the scenarios and near misses of each family have a real run."""
    assert MODULES
    of_it = [case for case in CASES if case.of == family]
    real = [case for case in of_it if case.real_s is not None and _is_real(case)]
    assert len(real) >= SHARE * len(of_it)
    assert not all(case.is_near_miss for case in real)


def _is_real(case: Case) -> bool:
    return any(is_playable(case.real_variant(number)) for number in range(4))


@pytest.mark.parametrize("name", AT_ONCE)
def test_real_child(name: str, lab: Lab) -> None:
    """A child that prints all at once, and ends after the first sample, gets the right verdict."""
    (case,) = [case for case in CASES if case.name == name]
    scene = replace(case.variant(0), seconds=0.0, silent_s=0.0, events=())
    awaited = ("environment", "checkpoints", *(("gpu:0",) if scene.cards else ()))
    assert case.compare(scene, play(scene, lab, awaited)) is Outcome.RIGHT
