"""The timeline: losses, rates, GPUs, host and events over one another, and the same in numbers."""

from __future__ import annotations

from markupsafe import Markup

from gpualert_common.charts.collection import collect_timeline
from gpualert_common.charts.drawing import ChartsUnavailableError, draw_svg
from gpualert_common.charts.summary import SummaryRow, summarize_panels
from gpualert_common.charts.timeline import Timeline
from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.structs import Struct

_MOST_ROWS = 200
_MOST_EVENTS = 60


class EventRow(Struct, frozen=True):
    """One event of the run."""

    at: str
    text: str


class DrawnTimeline(Struct, frozen=True):
    """The picture, or the reason why there is none, and the same as numbers and texts."""

    picture: Markup
    problem: str
    rows: tuple[SummaryRow, ...]
    rows_left_out: int
    events: tuple[EventRow, ...]
    events_left_out: int
    notes: tuple[str, ...]


def _collect(run: ReportedRun, room: Room) -> DrawnTimeline | None:
    timeline = collect_timeline(run.record, masks=run.masks, telemetry=run.telemetry)
    if not timeline.panels:
        return None
    picture, problem = (
        _draw(timeline, run.drawing_s) if room.is_full else (Markup(), "the picture is too large")
    )
    rows, marks = summarize_panels(timeline), timeline.marks
    most_rows, most_events = room.limit(_MOST_ROWS), room.limit(_MOST_EVENTS)
    events = tuple(EventRow(run.format_time(one.at), one.text) for one in marks[-most_events:])
    return DrawnTimeline(
        picture=picture,
        problem=run.text.line(problem),
        rows=rows[:most_rows],
        rows_left_out=max(0, len(rows) - most_rows),
        events=events,
        events_left_out=len(marks) - len(events),
        notes=timeline.notes,
    )


def _draw(timeline: Timeline, deadline_s: float) -> tuple[Markup, str]:
    """Return the picture; without one, the reason."""
    try:
        return Markup(draw_svg(timeline, deadline_s=deadline_s)), ""
    except ChartsUnavailableError as error:
        return Markup(), str(error)


SECTION = Section("Timeline", order=20, most_bytes=190_000, collect=_collect)
