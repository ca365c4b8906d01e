"""Near-copies among the logs of one cause, so that a log told ten times counts once.

Two logs are compared by what stands in their last lines, once numbers, addresses and paths are
masked: the share of word shingles that they have in common (Jaccard).  Logs of different causes
are never copies of each other: a pair that differs in one telling line is what a corpus needs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from gpualert_common.classify.lines import canonical

LAST_LINES = 400
"""What precedes them is start-up and progress, which logs of one program share.

Fewer would not do: the cascade of a failed rank fills a hundred lines, much alike in every log, and
what sets two of them apart stands above it.
"""

SHINGLE_WORDS = 4
"""A changed word changes four shingles; the order of words within a line counts."""

ALIKE = 0.6
"""From this share on two logs of a cause are near-copies.

Measured on this corpus: a log with the paths of another user keeps at least 0.8 of itself, nine in
ten keep 0.7 behind the prefix of another rank and 0.6 behind a timestamp or between the redraws of
a bar.  Failures of one cause that came about in different ways seldom share 0.5, although most of
what two programs of an origin print before they fail is the same.
"""

_MASKS = (
    (re.compile(r"^ *(?:\[[a-z]+\d+\]: ?| *\d+: )+"), ""),
    (re.compile(r"(?:[a-z]+:/)?(?:/[\w.@+~-]+){2,}/?"), "<path>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b"), "<hex>"),
    (re.compile(r"[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?"), "<n>"),
    (re.compile(r"([=#_.~^-])\1{3,}|[█▏▎▍▌▋▊▉━╸╺ ]+"), " "),
)
_WORD = re.compile(r"<\w+>|\w+|[^\w\s]")


def shingles(log: bytes) -> frozenset[tuple[str, ...]]:
    """The masked word shingles of the last lines of *log*; each line's own, not across lines."""
    found: set[tuple[str, ...]] = set()
    lines = canonical(log).decode("utf-8", "replace").split("\n")
    for line in [line for line in lines if line.strip()][-LAST_LINES:]:
        words = _WORD.findall(_masked(line))
        last = max(1, len(words) - SHINGLE_WORDS + 1)
        found.update(tuple(words[at : at + SHINGLE_WORDS]) for at in range(last) if words)
    return frozenset(found)


def _masked(line: str) -> str:
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    return line


def groups_of(logs: Sequence[bytes], causes: Sequence[str]) -> list[int]:
    """The group of each log: near-copies of one cause, and copies of copies, have one number."""
    groups = list(range(len(logs)))
    of_cause: dict[str, list[int]] = {}
    for number, cause in enumerate(causes):
        of_cause.setdefault(cause, []).append(number)
    sets = [shingles(log) for log in logs]
    for members in of_cause.values():
        for one, other in combinations(members, 2):
            if groups[one] != groups[other] and jaccard(sets[one], sets[other]) >= ALIKE:
                kept, gone = sorted((groups[one], groups[other]))
                groups = [kept if group == gone else group for group in groups]
    return groups


def jaccard(one: frozenset[Any], other: frozenset[Any]) -> float:
    """The share of both that is in both; 1 for two that are empty."""
    together = len(one | other)
    return len(one & other) / together if together else 1.0
