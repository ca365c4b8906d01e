"""Verdicts on runs whose ranks ended one after the other: which rank is named, and which is not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from gpualert_common.processes.rank_names import format_numbers
from tests.scenarios.lost_ranks import (
    UNCLEAR,
    waited_for_on_several_machines,
    waited_for_until_the_timeout,
)
from tests.scenarios.scene import Scene


@pytest.mark.parametrize("make", UNCLEAR)
def test_no_rank_is_named(make: Callable[[Random], Scene], tmp_path: Path) -> None:
    """The verdict names no rank that ended where another one may have been lost."""
    for seed in range(4):
        verdict = make(Random(seed)).verdict(tmp_path)
        assert verdict["cause"] == "collective"
        assert "rank_end" not in verdict["details"], verdict


def test_rank_that_did_not_come(tmp_path: Path) -> None:
    """A rank that the launcher had to stop after a timeout closed nothing, and was not killed."""
    for seed in range(6):
        verdict = waited_for_until_the_timeout(Random(seed)).verdict(tmp_path)
        rank = verdict["details"]["failed_rank"]
        assert verdict["headline"].startswith(f"The other ranks waited for rank {rank} in vain")
        assert verdict["attribution"] == "unknown"


def test_reporting_ranks_of_a_job_on_several_machines(tmp_path: Path) -> None:
    """The verdict of one machine has the ranks that reported, unless a report may be another's."""
    scene, reporting = waited_for_on_several_machines(Random(1))
    details = scene.verdict(tmp_path)["details"]
    assert details["reporting_ranks"] == format_numbers(reporting)
    assert "failed_rank" not in details
    log = scene.log.replace(f"[rank{reporting[0]}]: ", "")
    unclear = dataclasses.replace(scene, log=log).verdict(tmp_path)
    assert "reporting_ranks" not in unclear["details"]
