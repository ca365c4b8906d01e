"""Ranks in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def format_numbers(numbers: Iterable[int]) -> str:
    """Return numbers as ranges, as in "0-2, 4-7"."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


def name_ranks(ranks: Sequence[int]) -> str:
    """Return ranks with their noun, as in "rank 3" or "ranks 0-2, 4-7"."""
    return f"rank{'' if len(ranks) == 1 else 's'} {format_numbers(ranks)}"
