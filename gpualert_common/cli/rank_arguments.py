"""The option ``--ranks`` of the commands that look into a run."""

from __future__ import annotations

import argparse

_MOST_RANKS = 4096


def add_ranks(parser: argparse.ArgumentParser) -> None:
    """Add the option; its value is a tuple of numbers, empty for all ranks."""
    parser.add_argument(
        "--ranks",
        type=parse_ranks,
        default=(),
        metavar="RANKS",
        help="only these ranks, such as 0,3 or 0-7 (default: all on this machine)",
    )


def parse_ranks(text: str) -> tuple[int, ...]:
    """Return ranks, given as "0,3" or "0-7".  For argparse: raises ArgumentTypeError."""
    ranks: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = [first, last if dash else first]
        if not all(one.isascii() and one.isdecimal() and len(one) < 10 for one in ends):
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of ranks such as 0,3 or 0-7")
        low, high = map(int, ends)
        if not low <= high < low + _MOST_RANKS:
            raise argparse.ArgumentTypeError(f"{part!r} is no range of at most {_MOST_RANKS} ranks")
        ranks += range(low, high + 1)
    return tuple(sorted(set(ranks)))
