"""The timeline in numbers: one row for each line, which also stands in for the picture."""

from __future__ import annotations

from gpualert_common.charts.number_text import format_number
from gpualert_common.charts.timeline import ChartLine, LineKind, Timeline
from gpualert_common.structs import Struct


class SummaryRow(Struct, frozen=True):
    """One line in numbers, as texts for people; "-" for a number that is not known.

    ``least`` and ``most`` are the extremes of all values, also of those that were thinned out.
    """

    panel: str
    line: str
    unit: str
    first: str
    least: str
    most: str
    last: str


def summarize_panels(timeline: Timeline) -> tuple[SummaryRow, ...]:
    """Return a row for each line of each panel; a limit is a row with its value only."""
    return tuple(
        _summarize_line(panel.title, panel.unit, line)
        for panel in timeline.panels
        for line in panel.lines
    )


def _summarize_line(panel: str, unit: str, line: ChartLine) -> SummaryRow:
    known = [value for value in line.value if value is not None]
    low = min((one for one in line.low or line.value if one is not None), default=None)
    high = max((one for one in line.high or line.value if one is not None), default=None)
    first, last = (known[0], known[-1]) if known else (None, None)
    if line.kind is LineKind.LIMIT:
        first = last = None
    texts = [format_number(one) for one in (first, low, high, last)]
    if line.not_finite_at and (not line.at or line.not_finite_at[-1] >= line.at[-1]):
        texts[3] = "not finite"
    return SummaryRow(panel, line.name, unit, *texts)
