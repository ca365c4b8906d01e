"""What a format is: the lines of one family of frameworks, and what they say.

A format is a module beside this one whose ``PARSER`` is a class of this kind; its file name is the
name under which a progress carries it.  A parser is shown only lines that one of its ``hints``
occurs in, each of them once and in order, and keeps as little as it needs between them, in
attributes whose values are never changed in place: a copy of it must go on apart from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

from gpualert_common.classify.lines import LinePosition
from gpualert_common.plugins import load_plugins
from gpualert_common.progress.bars import Bar
from gpualert_common.progress.model import (
    Checkpoint,
    CheckpointAction,
    Marker,
    Point,
    Start,
    TrainingEnd,
    TrainingEndKind,
)
from gpualert_common.progress.timestamps import stamp_of

_TEXT_CHARS = 200


@dataclass(frozen=True, slots=True)
class ProgressLine:
    """A line of a log as parsers see it.

    ``text`` is without launchers' prefixes, escape sequences and the ``bar`` that it begins with,
    if any; ``raw`` is with all but the escape sequences.
    """

    text: bytes
    raw: bytes
    bar: Bar | None
    file: str
    place: LinePosition

    @property
    def excerpt(self) -> str:
        """The text, for people: what fits on a line or two."""
        return self.text.decode("utf-8", "replace").strip()[:_TEXT_CHARS]

    def point(self, **fields: Any) -> Point:
        """A point of this line, with the time that its stamp says."""
        return Point(
            file=self.file,
            line=self.place.line,
            offset=self.place.offset,
            at=stamp_of(self.raw),
            **fields,
        )

    def checkpoint(
        self, action: CheckpointAction, step: int | None, path: bytes | None
    ) -> Checkpoint:
        """A checkpoint that this line tells of."""
        told = None if path is None else path.decode("utf-8", "replace")
        return Checkpoint(action, self.file, *self.place, step=step, path=told)

    def marker(self, says: Start, step: int | None = None) -> Marker:
        """What this line says about where the training begins."""
        return Marker(says, self.excerpt, self.file, *self.place, step=step)

    def ending(self, kind: TrainingEndKind, values: dict[str, float] | None = None) -> TrainingEnd:
        """What this line says about the end of the training."""
        return TrainingEnd(kind, self.excerpt, self.file, *self.place, values=values or {})


class FrameworkName(NamedTuple):
    """The framework was recognised, whether or not it tells of steps, or what is built on it.

    ``by_reward`` says that what is optimised is a reward: the loss may rise as well as fall.
    """

    flavour: str | None = None
    by_reward: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts that a line adds; ``skipped_total`` is the number so far."""

    skipped: int = 0
    skipped_total: int = 0
    overflows: int = 0
    nan_iterations: int = 0


class ShapedPoint(NamedTuple):
    """A point of one of several shapes of line, which compete as formats do.

    ``sure`` says that the shape is one that hardly anything but a training has, ``by_clock`` that
    time decides when such a line is printed.
    """

    shape: str
    point: Point
    sure: bool
    unit: str = "step"
    by_clock: bool = False


class TrainingLength(NamedTuple):
    """How many steps and epochs the training is to have."""

    total_steps: int | None = None
    total_epochs: float | None = None


Finding = (
    Point | ShapedPoint | Checkpoint | Marker | TrainingEnd | FrameworkName | Tally | TrainingLength
)


@dataclass(frozen=True, slots=True)
class Hints:
    """RE2 over bytes for the lines that a parser wants to see.

    ``steps`` tell of progress and may come by the million: of a flood only samples are looked at.
    ``rare`` lines are looked at wherever they are, within reason.  ``bars`` is True for whoever
    wants to see progress bars.
    """

    steps: bytes = b""
    rare: bytes = b""
    bars: bool = False


class Parser(ABC):
    """Reads the lines of one stream.  Never raises for what they are."""

    hints: ClassVar[Hints]
    built_on: ClassVar[str | None] = None
    """The format whose lines carry its steps, for what only adds lines of its own to them."""

    by_epoch: ClassVar[bool] = False
    """True where its points have epochs, and steps only now and then."""
    accompanies: ClassVar[bool] = False
    """True for what is shown a line after all others, and stands aside for what they said of it."""

    @abstractmethod
    def read(self, line: ProgressLine) -> Iterable[Finding]:
        """What *line* says."""

    def finish(self) -> Iterable[Finding]:
        """What was still held back when the log ended."""
        return ()


@cache
def load_parsers() -> dict[str, type[Parser]]:
    """Return the parser of every format by name, in the order in which they read a line."""
    modules = load_plugins("gpualert_common.progress.formats")
    found: dict[str, type[Parser]] = {name: module.PARSER for name, module in modules.items()}
    return dict(sorted(found.items(), key=lambda one: one[1].accompanies))
