"""Interface of the formats: parsers for the log lines of one framework each.

A format is a module in this package whose ``PARSER`` is a subclass of :class:`FormatParser`; its
module name is the framework name in a progress.  A parser gets the lines that match its ``hints``,
each once and in order.  Its attributes have immutable values, so that a shallow copy of a parser is
independent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cache
from typing import Any, ClassVar, NamedTuple

from gpualert_common.classify.lines import LinePosition
from gpualert_common.plugins import load_plugins
from gpualert_common.progress.bars import Bar
from gpualert_common.progress.model import (
    Checkpoint,
    CheckpointAction,
    Marker,
    OutputCount,
    Point,
    Start,
    TrainingEnd,
    TrainingEndKind,
)
from gpualert_common.progress.timestamps import parse_timestamp
from gpualert_common.structs import Struct
from gpualert_common.whole_words import cut_words

_TEXT_CHARS = 200


class ProgressLine(Struct, frozen=True):
    """A line of a log for the parsers.

    ``text`` has no launcher prefix, no escape sequences, and no leading ``bar``; ``raw`` has no
    escape sequences.
    """

    text: bytes
    raw: bytes
    bar: Bar | None
    file: str
    place: LinePosition

    @property
    def excerpt(self) -> str:
        """The start of the text, for display."""
        return cut_words(self.text.decode("utf-8", "replace").strip(), _TEXT_CHARS)

    def make_point(self, **fields: Any) -> Point:
        """Return a point for this line, with the time of its timestamp."""
        return Point(
            file=self.file,
            line=self.place.line,
            offset=self.place.offset,
            at=parse_timestamp(self.raw),
            **fields,
        )

    def make_checkpoint(
        self, action: CheckpointAction, step: int | None, path: bytes | None
    ) -> Checkpoint:
        """Return a checkpoint for this line."""
        name = None if path is None else path.decode("utf-8", "replace")
        return Checkpoint(action, self.file, *self.place, step=step, path=name)

    def make_marker(self, says: Start, step: int | None = None) -> Marker:
        """Return a marker for this line."""
        return Marker(says, self.excerpt, self.file, *self.place, step=step)

    def make_output_count(self, count: int) -> OutputCount:
        """Return the number of classes, or of words, on this line."""
        return OutputCount(count, self.excerpt, self.file, *self.place)

    def make_ending(
        self, kind: TrainingEndKind, values: dict[str, float] | None = None
    ) -> TrainingEnd:
        """Return an end of the training for this line."""
        return TrainingEnd(kind, self.excerpt, self.file, *self.place, values=values or {})


class FrameworkName(NamedTuple):
    """The framework, or a library built on it, was recognized.

    ``by_reward`` is True when the training optimizes a reward: the loss need not fall.
    """

    flavour: str | None = None
    by_reward: bool = False


class Tally(Struct, frozen=True):
    """Counts from one line; ``skipped_total`` is the number since the start."""

    skipped: int = 0
    skipped_total: int = 0
    overflows: int = 0
    nan_iterations: int = 0


class ShapedPoint(NamedTuple):
    """A point from one of several shapes of lines, which compete as formats do.

    ``is_sure`` is True for a shape that hardly occurs outside trainings; ``by_clock`` is True when
    the time decides when such a line is printed.
    """

    shape: str
    point: Point
    is_sure: bool
    unit: str = "step"
    by_clock: bool = False


class TrainingLength(NamedTuple):
    """Planned number of steps and epochs."""

    total_steps: int | None = None
    total_epochs: float | None = None


ParsedItem = (
    Point
    | ShapedPoint
    | Checkpoint
    | Marker
    | OutputCount
    | TrainingEnd
    | FrameworkName
    | Tally
    | TrainingLength
)


class Hints(Struct, frozen=True):
    """RE2 expressions over bytes for the lines that a parser gets.

    ``steps`` lines can come by the million; only samples of a flood are parsed.  ``rare`` lines are
    parsed everywhere, within limits.  ``bars`` is True for a parser of progress bars.
    """

    steps: bytes = b""
    rare: bytes = b""
    bars: bool = False


class FormatParser(ABC):
    """Parser of the lines of one stream in one format.  Never raises."""

    hints: ClassVar[Hints]
    built_on: ClassVar[str | None] = None
    """The format that has the steps, for a library that adds lines to those of another."""

    by_epoch: ClassVar[bool] = False
    """True when the points have epochs, and steps only sometimes."""
    is_fallback: ClassVar[bool] = False
    """True for a format that gets a line last, and only if no other format recognized it."""

    @abstractmethod
    def read(self, line: ProgressLine) -> Iterable[ParsedItem]:
        """Yield the items on *line*."""

    def finish(self) -> Iterable[ParsedItem]:
        """Yield the items that were held back until the end of the log."""
        return ()


@cache
def load_parsers() -> dict[str, type[FormatParser]]:
    """Return the parser of every format by name, in the order in which they read a line."""
    modules = load_plugins("gpualert_common.progress.formats")
    found: dict[str, type[FormatParser]] = {name: module.PARSER for name, module in modules.items()}
    return dict(sorted(found.items(), key=lambda one: one[1].is_fallback))
