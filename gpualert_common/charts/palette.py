"""Colours of a chart by their role, for a white background.

Each colour has one role, so that the role of an element follows from its colour.  ``chart.css``
gives every role a colour for light and for dark pages.  The colours of the lines differ for
colour-blind readers as well: they are those of Okabe and Ito (https://jfly.uni-koeln.de/color/),
darkened to a contrast of 3:1 on white.
"""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.charts.timeline import MarkKind


class Role(StrEnum):
    """Role of a colour in a chart."""

    SERIES_1 = "series-1"
    SERIES_2 = "series-2"
    SERIES_3 = "series-3"
    SERIES_4 = "series-4"
    SERIES_5 = "series-5"
    SERIES_6 = "series-6"
    SERIES_7 = "series-7"
    SERIES_8 = "series-8"
    TEXT = "text"
    MUTED = "muted"
    GRID = "grid"
    AXIS = "axis"
    LIMIT = "limit"
    CHECKPOINT = "checkpoint"
    WARNING = "warning"
    SIGNAL = "signal"
    STACKS = "stacks"
    NOT_FINITE = "not-finite"
    FAILURE = "failure"
    END = "end"


LIGHT: dict[Role, str] = {
    Role.SERIES_1: "#0072b2",
    Role.SERIES_2: "#d55e00",
    Role.SERIES_3: "#008661",
    Role.SERIES_4: "#b0578d",
    Role.SERIES_5: "#a87400",
    Role.SERIES_6: "#2b8bc4",
    Role.SERIES_7: "#4d4d4d",
    Role.SERIES_8: "#7d5fb2",
    Role.TEXT: "#1f2328",
    Role.MUTED: "#59636e",
    Role.GRID: "#e6e9ec",
    Role.AXIS: "#b3bac1",
    Role.LIMIT: "#7a828b",
    Role.CHECKPOINT: "#5f6b78",
    Role.WARNING: "#9a6700",
    Role.SIGNAL: "#8250df",
    Role.STACKS: "#0a7285",
    Role.NOT_FINITE: "#d1242f",
    Role.FAILURE: "#cf222e",
    Role.END: "#24292f",
}
"""The colour of each role."""

SERIES = tuple(role for role in Role if role.startswith("series-"))

OF_MARKS: dict[MarkKind, Role] = {
    MarkKind.CHECKPOINT: Role.CHECKPOINT,
    MarkKind.WARNING: Role.WARNING,
    MarkKind.SIGNAL: Role.SIGNAL,
    MarkKind.STACKS: Role.STACKS,
    MarkKind.NOT_FINITE: Role.NOT_FINITE,
    MarkKind.FAILURE: Role.FAILURE,
    MarkKind.END: Role.END,
}
"""The role of each kind of mark."""
