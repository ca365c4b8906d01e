"""The timeline of a run: its numbers over time, in panels that stand over one another."""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.charts.number_text import format_number
from gpualert_common.report.formatting import duration
from gpualert_common.report.formatting import time as format_clock
from gpualert_common.structs import Struct

MOST_LINES = 8
"""Lines of one panel; more GPUs or ranks than that become a band with their median."""


class MarkKind(StrEnum):
    """Kind of an event on the timeline."""

    CHECKPOINT = "checkpoint"
    WARNING = "warning"
    SIGNAL = "signal"
    STACKS = "stacks"
    NOT_FINITE = "not_finite"
    FAILURE = "failure"
    END = "end"


class LineKind(StrEnum):
    """Meaning of a line: a value, the median of many lines, or a limit of the value."""

    VALUE = "value"
    MEDIAN = "median"
    LIMIT = "limit"


class ChartLine(Struct, frozen=True):
    """One number over time; ``at`` in seconds since the epoch, in ascending order.

    ``low`` and ``high`` are the extremes that a thinned or merged value stands for; both are empty
    where every value stands for itself.  A gap is None.  ``not_finite_at`` has the times of values
    that are NaN or infinite, which are gaps in ``value``.
    """

    name: str
    at: tuple[float, ...]
    value: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    kind: LineKind = LineKind.VALUE
    not_finite_at: tuple[float, ...] = ()


class Panel(Struct, frozen=True):
    """One chart of the timeline: lines of one unit, such as "GiB" or "steps/s".

    ``top`` is the upper end of the axis where it does not follow from the values, as for a share.
    The axis begins at 0 unless it ``is_floating`` or logarithmic.
    """

    title: str
    unit: str
    lines: tuple[ChartLine, ...]
    is_logarithmic: bool = False
    is_floating: bool = False
    top: float | None = None


class Mark(Struct, frozen=True):
    """One event of the run.

    ``text`` is shown where the reader points at it, ``label`` above its line.
    """

    at: float
    kind: MarkKind
    text: str
    label: str = ""


class Timeline(Struct, frozen=True):
    """Numbers and events of a run between two times; its texts are masked and safe to show.

    ``notes`` say what was left out, such as the middle of a huge log.  Where ``unit`` is not empty,
    the axis is not time but counts this unit, such as "step", and all times are such counts.
    """

    began_at: float
    ended_at: float
    panels: tuple[Panel, ...] = ()
    marks: tuple[Mark, ...] = ()
    notes: tuple[str, ...] = ()
    unit: str = ""

    def describe_position(self, at: float) -> str:
        """Return a position on the axis in words: the time since the launch, or the count."""
        if self.unit:
            return f"{self.unit} {format_number(at)}"
        return f"{duration(at - self.began_at)} ({format_clock(at)})"
