"""Near-copies among the logs of one cause, so that ten copies of a log count once.

Two logs are compared by their last lines, with numbers, addresses and paths masked: the share of
word shingles that they have in common (Jaccard index).  Logs of different causes are never copies
of each other: a corpus needs pairs that differ only in the line that matters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from gpualert_common.classify.lines import canonicalize

Shingle = tuple[str, ...]

LAST_LINES = 400
"""The lines before them are start-up and progress, which the logs of one program share.

Fewer are not enough: the cascade of a failed rank fills a hundred lines, which are alike in every
log, and the difference between two logs is above it.
"""

SHINGLE_WORDS = 4
"""A changed word changes four shingles.  The order of words within a line counts."""

ALIKE = 0.6
"""Two logs of a cause with at least this share in common are near-copies.

Measured on this corpus: a log with the paths of another user keeps at least 0.8 of itself, nine in
ten keep 0.7 behind the prefix of another rank, and 0.6 behind a timestamp or between the redraws of
a bar.  Different failures of one cause seldom share 0.5, although two programs of an origin print
almost the same before they fail.
"""

_MASKS = (
    (re.compile(r"^ *(?:\[[a-z]+\d+\]: ?| *\d+: )+"), ""),
    (re.compile(r"(?:[a-z]+:/)?(?:/[\w.@+~-]+){2,}/?"), "<path>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b"), "<hex>"),
    (re.compile(r"[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?"), "<n>"),
    (re.compile(r"([=#_.~^-])\1{3,}|[█▏▎▍▌▋▊▉━╸╺ ]+"), " "),
)
_WORD = re.compile(r"<\w+>|\w+|[^\w\s]")


def shingles(log: bytes) -> frozenset[Shingle]:
    """Return the masked word shingles of the last lines of *log*; none extends over two lines."""
    found: set[Shingle] = set()
    lines = canonicalize(log).decode("utf-8", "replace").split("\n")
    for line in [line for line in lines if line.strip()][-LAST_LINES:]:
        words = _WORD.findall(_mask(line))
        last = max(1, len(words) - SHINGLE_WORDS + 1)
        found.update(tuple(words[at : at + SHINGLE_WORDS]) for at in range(last) if words)
    return frozenset(found)


def _mask(line: str) -> str:
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    return line


def group_near_copies(logs: Sequence[bytes], causes: Sequence[str]) -> list[int]:
    """Return the group of each log.  Near-copies of one cause, and copies of copies, share one."""
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


def jaccard(one: frozenset[Shingle], other: frozenset[Shingle]) -> float:
    """Return the Jaccard index of two sets; 1 for two empty ones."""
    together = len(one | other)
    return len(one & other) / together if together else 1.0
