"""Verdicts on runs whose ranks ended one after the other: which rank is named, and which is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.scenarios.lost_ranks import UNCLEAR, waited_for_until_the_timeout
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
