"""How far a training has come, as the newest lines of its logs tell.

What a line says is known from tqdm's bars, Keras, Lightning, Transformers, torchvision, mmdetection
and Megatron, and from what people print themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Final

import re2

_TAIL_BYTES = 64 << 10
_MOST_LINE = 500

_NUMBER = r"(\d{1,12})"
_OF = rf"{_NUMBER}\s*(?:/|of)\s*{_NUMBER}"
_EPOCH: Final = re2.compile(rf"(?i)\bepochs?[\s:#=\[(]*{_OF}")
_EPOCH_BAR: Final = re2.compile(rf"(?i)\bepochs?:?\s+\d{{1,3}}%\|[^|]*\|\s*{_NUMBER}/{_NUMBER} ")
_STEPS: Final = tuple(
    re2.compile(pattern)
    for pattern in (
        rf"\d{{1,3}}%\|[^|]*\|\s*{_NUMBER}/{_NUMBER} \[",  # tqdm; bytes have a unit, and no match
        rf"(?i)\b(?:global[ _])?(?:step|iter|iteration|batch|update)s?[\s:#=\[(]*{_OF}",
        rf"(?i)\bepoch[\s:]*\[?\s*\d+\s*\]?\s*\[\s*{_NUMBER}\s*/\s*{_NUMBER}",  # Epoch: [2][10/50]
        rf"^\s*{_NUMBER}/{_NUMBER}\s+(?:\[[=>.]|\x{{2501}})",  # Keras
    )
)
_ASIDE = (
    *("valid", "eval", "test", "sanity", "predict", "infer", "sampl", "generat"),
    *("load", "fetch", "shard", "sav", "map", "filter", "tokeniz", "process", "warm"),
)
_WORDS_BEFORE = 3
"""What stands there tells where it is not the training that is counted."""


def step_of_total(line: str) -> tuple[int, int] | None:
    """How many steps are done, and of how many, where a line of a log tells."""
    return None if _counted(line, (_EPOCH_BAR,)) else _counted(line, _STEPS)


def epoch_of_total(line: str) -> tuple[int, int] | None:
    """How many epochs are done, and of how many: a line that names one was written in it."""
    done = _counted(line, (_EPOCH_BAR,))
    if done is not None:
        return done
    begun = _counted(line, (_EPOCH,))
    return None if begun is None else (max(0, begun[0] - 1), begun[1])


def newest_lines(path: str) -> list[str]:
    """The last lines of a log, and the drawings of its bars, at most 64 KiB.  Raises OSError."""
    with open(path, "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
        text = file.read(_TAIL_BYTES).decode("utf-8", "replace")
    return text.replace("\r", "\n").split("\n")


class Progress:
    """What the lines of one run have told so far."""

    def __init__(self) -> None:
        self._epoch: tuple[int, int] | None = None
        self._step: tuple[int, int] | None = None

    def take(self, lines: Iterable[str]) -> None:
        """Look at lines, the newest last; those that were looked at before do no harm."""
        for line in lines:
            epoch = epoch_of_total(line)
            if epoch is not None and epoch != self._epoch:
                self._epoch, self._step = epoch, None
            self._step = step_of_total(line) or self._step

    @property
    def percent(self) -> float | None:
        """0 to 100; None when nothing told how much there is to do."""
        share = self._step[0] / self._step[1] if self._step else 0.0
        if self._epoch is not None:
            return min(100.0, 100 * (self._epoch[0] + share) / self._epoch[1])
        return 100 * share if self._step else None

    def __str__(self) -> str:
        """Such as "2 of 10 epochs, 120 of 1000 steps"."""
        told = ((self._epoch, "epochs"), (self._step, "steps"))
        return ", ".join(f"{of[0]} of {of[1]} {what}" for of, what in told if of is not None)


def _counted(line: str, patterns: Iterable[Any]) -> tuple[int, int] | None:
    for before, done, total in _counts(line[:_MOST_LINE], patterns):
        words = " ".join(before.lower().split()[-_WORDS_BEFORE:])
        if 0 < total >= done and not any(word in words for word in _ASIDE):
            return done, total
    return None


def _counts(line: str, patterns: Iterable[Any]) -> Iterator[tuple[str, int, int]]:
    if "/" not in line and " of " not in line:
        return
    for pattern in patterns:
        match = pattern.search(line)
        if match is not None:
            yield line[: match.start()], int(match[1]), int(match[2])
