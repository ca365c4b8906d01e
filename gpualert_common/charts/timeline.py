"""The timeline of a run: its numbers over time, in panels that stand over one another."""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.structs import Struct


class MarkKind(StrEnum):
    """Kind of an event on the timeline."""

    CHECKPOINT = "checkpoint"
    WARNING = "warning"
    SIGNAL = "signal"
    STACKS = "stacks"
    FAILURE = "failure"
    END = "end"


class ChartLine(Struct, frozen=True):
    """One number over time; ``at`` in seconds since the epoch, in ascending order.

    ``low`` and ``high`` are the extremes that a thinned or merged value stands for.  A gap is None.
    """

    name: str
    at: tuple[float, ...]
    value: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()


class Panel(Struct, frozen=True):
    """One chart of the timeline: lines of one unit, such as "GiB" or "steps/s"."""

    title: str
    unit: str
    lines: tuple[ChartLine, ...]
    is_logarithmic: bool = False


class Mark(Struct, frozen=True):
    """One event of the run; ``text`` is shown where the reader points at it."""

    at: float
    kind: MarkKind
    text: str


class Timeline(Struct, frozen=True):
    """Numbers and events of a run between two times; its texts are masked and safe to show."""

    began_at: float
    ended_at: float
    panels: tuple[Panel, ...] = ()
    marks: tuple[Mark, ...] = ()
