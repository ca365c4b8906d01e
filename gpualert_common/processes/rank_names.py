"""Ranks in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_RANGES = 8


def format_numbers(numbers: Iterable[int]) -> str:
    """Return numbers as ranges, as in "0-2, 4-7"."""
    return _join(find_ranges(numbers))


def find_ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and the last number of each range."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges


def _join(ranges: Iterable[tuple[int, int]]) -> str:
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


def read_ranges(text: str) -> list[tuple[int, int]] | None:
    """Return the ranges of such a text, each with its first and last number; None of any other."""
    found = []
    for part in text.split(", ") if text else ():
        low, _, high = part.partition("-")
        numbers = (low, high or low)
        if not all(one.isascii() and one.isdecimal() and len(one) < 8 for one in numbers):
            return None
        found.append((int(numbers[0]), int(numbers[1])))
    return found


def name_ranks(ranks: Sequence[int]) -> str:
    """Return ranks with their noun, as in "rank 3" or "ranks 0-2, 4-7"; of many ranges the first
    ones."""
    ranges = find_ranges(ranks)
    left = sum(high - low + 1 for low, high in ranges[_MOST_RANGES:])
    more = f" and {left} more" if left else ""
    return f"rank{'' if len(ranks) == 1 else 's'} {_join(ranges[:_MOST_RANGES])}{more}"
