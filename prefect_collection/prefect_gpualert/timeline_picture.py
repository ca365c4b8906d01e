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
    """A timeline as a PNG and in rows.  ``notes`` say what is missing: of the data, or the picture.

    Its texts are masked, and not yet escaped.
    """

    png: bytes
    rows: tuple[SummaryRow, ...]
    notes: tuple[str, ...] = ()


def draw_timeline(record: Record, masks: Masks) -> TimelinePicture | None:
    """Return the timeline of a run; None where it has no numbers.

    The picture is drawn in a process of its own, which may take 20 s.
    """
    timeline = collect_timeline(record, masks=masks)
    rows = summarize_panels(timeline)
    if not rows:
        return None
    try:
        return TimelinePicture(draw_png(timeline, most_bytes=_MOST_BYTES), rows, timeline.notes)
    except ChartsUnavailableError as error:
        return TimelinePicture(b"", rows, (f"There is no picture: {error}", *timeline.notes))
