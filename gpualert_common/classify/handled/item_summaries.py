"""Summaries of items, such as files and trials, of which a program needs not all."""

from __future__ import annotations

from typing import Final

from gpualert_common.regex import compile_bytes

_SUMMARY: Final = compile_bytes(
    rb"(?i)(?:^|[^\w/.-])(\d[\d,]{0,14}) ?(?:/|(?:out )?of) ?(\d[\d,]{0,14}),? [a-z]{2}"
    rb"|\b(?:ok|converted|processed|wrote|written|saved|done|finished|completed)\b[^\d,;]{0,20}"
    rb"\b(\d[\d,]{0,14}) ?(?:/|(?:out )?of) ?(\d[\d,]{0,14})\b"
)
"""A summary of items: how many of them succeeded, and how many there were."""

_COUNTS: Final = compile_bytes(
    rb"(?i)(?:^|[^f/\d\s] ?)\b(\d[\d,]{0,14}) "
    rb"[a-z]{2,15}\b"
    rb".{0,40}\b(\d[\d,]{0,14}) (?:failed|skipped|left out|errors?|bad)\b"
    rb"|\b(?:ok|succeeded|passed|done|converted|processed|written|completed)[:=] ?(\d[\d,]{0,14})\b"
    rb".{0,40}\b(?:failed|skipped|errors?|bad)[:=] ?(\d[\d,]{0,14})"
)
"""A summary of items: how many of them succeeded, and how many failed."""

_WHOLE: Final = compile_bytes(
    rb"(?i)\b(?:rank|worker|node|process|fold|epoch|step|iteration|round|stage|phase)(?:s|es)?\b"
)
"""Parts of one training, none of which it can do without."""


def is_mostly_successful(line: bytes) -> bool:
    """Return whether *line* says that most items succeeded."""
    if _WHOLE.search(line):
        return False
    if found := _SUMMARY.search(line):
        good, total = _numbers(found.groups())
        return good > 1 and total / 2 < good <= total
    if found := _COUNTS.search(line):
        good, bad = _numbers(found.groups())
        return good > max(bad, 1)
    return False


def _numbers(groups: tuple[bytes | None, ...]) -> list[int]:
    return [int(number.replace(b",", b"")) for number in groups if number is not None]
