"""Numbers, and the names that programs print them under."""

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
"""RE2 of a number as programs print it, with commas between thousands, and ``nan`` and ``inf``."""

_MOST_DIGITS = 300
_MOST_BYTES = 4096
"""Of a line that is looked at: what people print of a step is shorter."""

_PAIR = compile_bytes(
    rb"(?:([A-Za-z][\w./@-]*(?:\([a-z]+\))?(?: [A-Za-z(][\w./@)-]*){0,4}?)"
    rb"['\"\])]*[ \t]*[:=#|]?[ \t]*['\"\[(]*[ \t]*)?(" + NUMBER + rb")"
    rb"([ \t]*(?:/|of)[ \t]*\d[\d,]*"
    rb"| ?[A-Za-z]+/(?:s|sec|second|step|it|iter|iteration|batch)\b|%|(?:ms|us|s)\b)?"
)


def number(text: bytes) -> float | None:
    """The number that *text* is, None when it is none."""
    text = text.replace(b",", b"")
    if len(text) > _MOST_DIGITS:
        return None
    if text.endswith((b"nan.0", b"inf.0")):  # Lightning's bar
        text = text[:-2]
    try:
        return float(text)
    except ValueError:
        return None


def whole(text: bytes) -> int | None:
    """The count that *text* is, None when it is none."""
    return count_of(number(text))


def count_of(value: float | None) -> int | None:
    """*value* as a count: not negative, and below a million million; None for any other."""
    return int(value) if value is not None and 0 <= value < 1e12 else None


class Pair(NamedTuple):
    """A number and what stands around it: ``loss: 0.3``, ``step 10/100``, ``12.3 it/s``.

    ``total`` is what it is a part of, ``name`` b"" where there is none.  It begins at ``begin`` and
    ends before ``end``.
    """

    name: bytes
    value: float
    total: int | None
    unit: bytes
    begin: int
    end: int

    @property
    def word_begin(self) -> int:
        """Where the last word of its name begins, or the number itself."""
        return self.begin + len(self.name) - len(self.name.rpartition(b" ")[2])

    @property
    def whole(self) -> int | None:
        """The value as a count, None when it is none."""
        count = count_of(self.value)
        return count if count == self.value else None


def pairs(text: bytes) -> list[Pair]:
    """Every number of *text*, in order."""
    text = text[:_MOST_BYTES]
    found = []
    for match in _PAIR.finditer(text):
        name, told, tail = match.groups()
        begin, end = match.span()
        if told[-1:].isalpha() and text[end : end + 1].isalpha():
            continue  # [INFO] is no infinity
        value = number(told)
        if value is not None:
            total, unit = _tail(tail) if tail else (None, b"")
            found.append(Pair(name or b"", value, total, unit, begin, end))
    return found


def _tail(tail: bytes) -> tuple[int | None, bytes]:
    """What follows a number: what it is a part of, or its unit."""
    tail = tail.strip()
    digits = tail.lstrip(b"/of \t")
    return (whole(digits), b"") if digits[:1].isdigit() else (None, tail)


def named(text: bytes) -> dict[bytes, float]:
    """The numbers of *text* that have names, as a dictionary or a bar has them; the last counts."""
    return {pair.name: pair.value for pair in pairs(text) if pair.name}


class Losses(NamedTuple):
    """What was trained on, and under which name; what an evaluation gave."""

    name: bytes = b""
    train: float | None = None
    evaluation: float | None = None


def losses(said: Iterable[tuple[bytes, float]]) -> Losses:
    """Of all that was said the loss that was trained on, and that of an evaluation.

    The total goes before its parts, and the loss of a step before that of an epoch.  Of parts
    without a total it is the first, or one that is not finite.
    """
    found: tuple[list[tuple[_Rank, bytes, float]], ...] = ([], [])
    for name, value in said:
        rank = _rank_of(name)
        if rank is not None:
            if rank.is_part and not math.isfinite(value):
                rank = rank._replace(is_finite=False)
            found[rank.evaluates].append((rank, name, value))
    train, evaluation = (min(one, key=_first, default=None) for one in found)
    return Losses(
        train[1] if train else b"",
        train[2] if train else None,
        evaluation[2] if evaluation else None,
    )


class _Rank(NamedTuple):
    """The lowest is the best."""

    evaluates: bool
    is_part: bool
    is_finite: bool
    is_of_epoch: bool
    words: int


def _first(found: tuple[_Rank, bytes, float]) -> _Rank:
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
def _rank_of(name: bytes) -> _Rank | None:
    """How good a loss is what is called so; None when it is none."""
    words = name.lower().translate(_WORDS).split(b"_")
    if _NO_MEASURE.intersection(words) or not {b"loss", b"losses"}.intersection(words):
        return None
    extra = len(set(words) - _PLAIN - _EVALUATIONS)
    evaluates = not _EVALUATIONS.isdisjoint(words)
    return _Rank(evaluates, extra > 0, is_finite=True, is_of_epoch=b"epoch" in words, words=extra)
