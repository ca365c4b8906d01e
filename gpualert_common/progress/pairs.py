"""Numbers in text, with their names."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from gpualert_common.regex import compile_bytes

NUMBER: Final = (
    rb"[-+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
    rb"|[-+]?(?i:nan|inf(?:inity)?)(?:\.0)?"
)
"""RE2 for a number as programs print it: with thousands separators, ``nan`` and ``inf``."""

_MOST_DIGITS = 300
_MOST_BYTES = 4096
"""Length of the parsed part of a line; lines about a step are shorter."""

_PAIR = compile_bytes(
    rb"(?:([A-Za-z][\w./@-]*(?:\([a-z]+\))?(?: [A-Za-z(][\w./@)-]*){0,4}?)"
    rb"['\"\])]*[ \t]*[:=#|]?[ \t]*['\"\[(]*[ \t]*)?(" + NUMBER + rb")"
    rb"([ \t]*(?:/|of)[ \t]*\d[\d,]*"
    rb"| ?[A-Za-z]+/(?:s|sec|second|step|it|iter|iteration|batch)\b|%|(?:ms|us|s)\b)?"
)


def parse_number(text: bytes) -> float | None:
    """Return *text* as a number, None for other text."""
    text = text.replace(b",", b"")
    if len(text) > _MOST_DIGITS:
        return None
    if text.endswith((b"nan.0", b"inf.0")):  # Lightning's bar
        text = text[:-2]
    try:
        return float(text)
    except ValueError:
        return None


def parse_count(text: bytes) -> int | None:
    """Return *text* as a count, None for other text."""
    return to_count(parse_number(text))


def to_count(value: float | None) -> int | None:
    """Return *value* as a count; None if it is negative or not below 1e12."""
    return int(value) if value is not None and 0 <= value < 1e12 else None


class Pair(NamedTuple):
    """A number with its name, total and unit: ``loss: 0.3``, ``step 10/100``, ``12.3 it/s``.

    ``name`` is b"" if there is none.  The pair spans ``begin`` to ``end``.
    """

    name: bytes
    value: float
    total: int | None
    unit: bytes
    begin: int
    end: int

    @property
    def word_begin(self) -> int:
        """Position of the last word of the name, or of the number if it has none."""
        return self.begin + len(self.name) - len(self.name.rpartition(b" ")[2])

    @property
    def integer(self) -> int | None:
        """The value as a count, None for other values."""
        count = to_count(self.value)
        return count if count == self.value else None


def find_pairs(text: bytes) -> list[Pair]:
    """Return every number in *text* with its name, in order."""
    text = text[:_MOST_BYTES]
    found = []
    for match in _PAIR.finditer(text):
        name, digits, tail = match.groups()
        begin, end = match.span()
        if digits[-1:].isalpha() and text[end : end + 1].isalpha():
            continue  # [INFO] is not infinity
        value = parse_number(digits)
        if value is not None:
            total, unit = _parse_tail(tail) if tail else (None, b"")
            found.append(Pair(name or b"", value, total, unit, begin, end))
    return found


def _parse_tail(tail: bytes) -> tuple[int | None, bytes]:
    """Return the total and the unit that follow a number."""
    tail = tail.strip()
    digits = tail.lstrip(b"/of \t")
    return (parse_count(digits), b"") if digits[:1].isdigit() else (None, tail)


def collect_named(text: bytes) -> dict[bytes, float]:
    """Return the named numbers in *text*, such as those of a dictionary or a bar; the last wins."""
    return {pair.name: pair.value for pair in find_pairs(text) if pair.name}


class Losses(NamedTuple):
    """The training loss with its name, and the evaluation loss."""

    name: bytes = b""
    train: float | None = None
    evaluation: float | None = None


def find_losses(values: Iterable[tuple[bytes, float]]) -> Losses:
    """Return the training loss and the evaluation loss among named values.

    A total has priority over its parts, and the loss of a step over that of an epoch.  Among parts
    without a total, a loss that is not finite has priority, then the first.
    """
    found: tuple[list[tuple[_Rank, bytes, float]], ...] = ([], [])
    for name, value in values:
        rank = _rank_name(name)
        if rank is not None:
            if rank.is_part and not math.isfinite(value):
                rank = rank._replace(is_finite=False)
            found[rank.evaluates].append((rank, name, value))
    train, evaluation = (min(one, key=_get_rank, default=None) for one in found)
    return Losses(
        train[1] if train else b"",
        train[2] if train else None,
        evaluation[2] if evaluation else None,
    )


class _Rank(NamedTuple):
    """Priority of a loss name; the lowest is the best."""

    evaluates: bool
    is_part: bool
    is_finite: bool
    is_of_epoch: bool
    words: int


def _get_rank(found: tuple[_Rank, bytes, float]) -> _Rank:
    return found[0]


_EVALUATIONS = frozenset(b"val valid validation eval evaluation test dev".split())
_NO_MEASURE = frozenset(
    b"best min max minimum lowest final target initial init previous prev last scale scaler weight "
    b"coef coeff ratio factor lambda threshold fn type spike diff delta interval every".split()
)
_PLAIN = frozenset(
    b"loss losses train training total step avg average mean running reduced batch epoch lm".split()
)
_WORDS = bytes.maketrans(b"/- .", b"____")


@lru_cache(maxsize=1024)
def _rank_name(name: bytes) -> _Rank | None:
    """Return the priority of a name, None when it does not name a loss."""
    words = name.lower().translate(_WORDS).split(b"_")
    if _NO_MEASURE.intersection(words) or not {b"loss", b"losses"}.intersection(words):
        return None
    extra = len(set(words) - _PLAIN - _EVALUATIONS)
    evaluates = not _EVALUATIONS.isdisjoint(words)
    return _Rank(evaluates, extra > 0, is_finite=True, is_of_epoch=b"epoch" in words, words=extra)
