"""Ranks that differ: the same ones as by the definition, for any number of ranks."""

from __future__ import annotations

import math
import random
from statistics import median

import pytest

from gpualert_common.profiles.outliers import find_outliers


def differs(column: int, shares: list[float], samples: list[int]) -> bool:
    """Return whether a rank differs, by the definition in ``docs/profiles.md``."""
    others = [one for one in range(len(shares)) if one != column]
    usual = median(shares[one] for one in others)
    size = median(samples[one] for one in others)
    spread = 1.4826 * median(abs(shares[one] - usual) for one in others)
    pooled = (shares[column] * samples[column] + usual * size) / (samples[column] + size)
    noise = math.sqrt(pooled * (1 - pooled) * (1 / samples[column] + 1 / size))
    return shares[column] - usual >= max(0.1, 5 * noise, 4 * spread)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 16, 33])
def test_definition(ranks: int) -> None:
    """The ranks that differ are those of the definition, also where many have the same share."""
    chance = random.Random(ranks)
    for _ in range(300):
        samples = [chance.choice((50, 400, 1000)) for _ in range(ranks)]
        usual = chance.random() / 2
        shares = [usual + chance.choice((0, 0, 0, 0.005, 0.2, 0.45)) for _ in range(ranks)]
        counts = [int(share * size) for share, size in zip(shares, samples, strict=True)]
        exact = [count / size for count, size in zip(counts, samples, strict=True)]
        expected = [one for one in range(ranks) if differs(one, exact, samples)]
        assert list(find_outliers(counts, samples)) == expected


def test_few_samples() -> None:
    """A rank with hardly any sample neither differs nor counts among the others."""
    assert find_outliers((19, 0, 500), (19, 1000, 1000)) == (2,)
    assert find_outliers((19, 0), (19, 1000)) == ()
