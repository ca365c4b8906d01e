"""Marks of progress in a log: cheap signs that a training went on behind a place.

They order what is in a log, in one pass of the scanner; they say nothing about the training.
Its steps and losses are read by :mod:`gpualert_common.progress`, which costs more per line, and
which stands above this package.
"""

from __future__ import annotations

from typing import Final

from gpualert_common.regex import compile_bytes

PROGRESS_MARK: Final = compile_bytes(
    rb"\b(?:global_?|Global_?)?(?:[Ss]tep|[Ii]ter(?:ation)?|[Ee]poch|[Bb]atch|[Uu]pdate|EPOCH)s?\b"
    rb"[ :=#\[(]{0,3}(\d{1,12})"
    rb"|\b(?:[Rr]ound|[Ee]pisode|ROUND)\b[ :=#\[(]{0,3}(\d{1,12})[^\r\n]{0,80}?"
    rb"(?:loss|acc|auc|score|reward|return|mse|f1|ppl)"
    rb"|\b(\d{1,9})/\d{1,9} \[\d+:\d\d"
    rb"|['\"]epoch['\"]: ['\"]?([\d.]{1,16})"
)
"""A step or an epoch with its number, which is in a group."""


def find_progress_marks(text: bytes, offset: int) -> tuple[tuple[int, int], ...]:
    """Return the offset of each mark in *text*, which stands at *offset*, in order.

    With each comes the number of different steps from there to the end of *text*.
    """
    different: set[tuple[bytes | None, ...]] = set()
    found = []
    for match in reversed(list(PROGRESS_MARK.finditer(text))):
        different.add(match.groups())
        found.append((offset + match.start(), len(different)))
    return tuple(reversed(found))
