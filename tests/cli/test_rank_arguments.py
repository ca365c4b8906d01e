"""The option ``--ranks``."""

from __future__ import annotations

import argparse

import pytest

from gpualert_common.cli.rank_arguments import parse_ranks


@pytest.mark.parametrize(
    ("text", "ranks"), [("0", (0,)), ("3,0,3", (0, 3)), ("0-2, 7", (0, 1, 2, 7))]
)
def test_ranks(text: str, ranks: tuple[int, ...]) -> None:
    """Ranks are numbers and ranges."""
    assert parse_ranks(text) == ranks


@pytest.mark.parametrize("text", ["", "a", "-1", "1-", "²", "0-999999", "9" * 30, "1,,2", "3-1"])
def test_wrong_ranks(text: str) -> None:
    """Anything else is an error that names it."""
    with pytest.raises(argparse.ArgumentTypeError, match="rank"):
        parse_ranks(text)
