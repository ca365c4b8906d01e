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
    """Return ranks with their noun, as in "rank 3" or "ranks 0-2, 4-7"."""
    return f"rank{'' if len(ranks) == 1 else 's'} {format_numbers(ranks)}"
