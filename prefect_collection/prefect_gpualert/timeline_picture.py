"""The timeline of a run as a picture for Prefect, and in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpualert_common.charts.collection import collect_timeline
from gpualert_common.charts.drawing import ChartsUnavailableError, draw_png
from gpualert_common.charts.summary import SummaryRow, summarize_panels
from gpualert_common.structs import Struct

if TYPE_CHECKING:
    from gpualert_common.record import Record
    from gpualert_common.report.text_sanitizer import Masks

_MOST_BYTES = 300_000


class TimelinePicture(Struct, frozen=True):
    """A timeline: as a PNG, which is empty where it cannot be drawn for ``problem``, and in rows.

    Its texts are masked, and not yet escaped.
    """

    png: bytes
    problem: str
    rows: tuple[SummaryRow, ...]


def draw_timeline(record: Record, masks: Masks) -> TimelinePicture | None:
    """Return the timeline of a run; None where it has no numbers.

    The picture is drawn in a process of its own, which may take 20 s.
    """
    timeline = collect_timeline(record, masks=masks)
    rows = summarize_panels(timeline)
    if not rows:
        return None
    try:
        return TimelinePicture(draw_png(timeline, most_bytes=_MOST_BYTES), "", rows)
    except ChartsUnavailableError as error:
        return TimelinePicture(b"", str(error), rows)
