"""Colours of a chart by their role, for a white background.

Each colour has one role, so that the role of an element follows from its colour.  ``chart.css``
gives every role a colour for light and for dark pages.  The colours of the lines differ for
colour-blind readers as well: they are those of Okabe and Ito (https://jfly.uni-koeln.de/color/),
darkened to a contrast of 3:1 on white.
"""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.charts.timeline import MarkKind


class ColourRole(StrEnum):
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
    LIMIT = "limit"
    CHECKPOINT = "checkpoint"
    WARNING = "warning"
    SIGNAL = "signal"
    STACKS = "stacks"
    NOT_FINITE = "not-finite"
    FAILURE = "failure"
    END = "end"


LIGHT: dict[ColourRole, str] = {
    ColourRole.SERIES_1: "#0072b2",
    ColourRole.SERIES_2: "#d55e00",
    ColourRole.SERIES_3: "#008661",
    ColourRole.SERIES_4: "#b0578d",
    ColourRole.SERIES_5: "#a87400",
    ColourRole.SERIES_6: "#2b8bc4",
    ColourRole.SERIES_7: "#4d4d4d",
    ColourRole.SERIES_8: "#7d5fb2",
    ColourRole.TEXT: "#1f2328",
    ColourRole.MUTED: "#59636e",
    ColourRole.GRID: "#e6e9ec",
    ColourRole.LIMIT: "#7a828b",
    ColourRole.CHECKPOINT: "#5f6b78",
    ColourRole.WARNING: "#9a6700",
    ColourRole.SIGNAL: "#8250df",
    ColourRole.STACKS: "#0a7285",
    ColourRole.NOT_FINITE: "#d1242f",
    ColourRole.FAILURE: "#cf222e",
    ColourRole.END: "#24292f",
}
"""The colour of each role."""

SERIES = tuple(role for role in ColourRole if role.startswith("series-"))

OF_MARKS: dict[MarkKind, ColourRole] = {
    MarkKind.CHECKPOINT: ColourRole.CHECKPOINT,
    MarkKind.WARNING: ColourRole.WARNING,
    MarkKind.SIGNAL: ColourRole.SIGNAL,
    MarkKind.STACKS: ColourRole.STACKS,
    MarkKind.NOT_FINITE: ColourRole.NOT_FINITE,
    MarkKind.FAILURE: ColourRole.FAILURE,
    MarkKind.END: ColourRole.END,
}
"""The role of each kind of mark."""
