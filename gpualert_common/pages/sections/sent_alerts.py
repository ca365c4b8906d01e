"""Alerts about the run, as its record knows them."""

from __future__ import annotations

from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.record.events import ALERT_SENT
from gpualert_common.spec import EARLY, ENDED
from gpualert_common.structs import Struct

_MOST_ROWS = 50


class AlertRow(Struct, frozen=True):
    """One attempt to send an alert, and the answer or the problem."""

    at: str
    about: str
    channel: str
    state: str
    detail: str


class AlertTable(Struct, frozen=True):
    """Rows, oldest first; the others are only counted."""

    rows: tuple[AlertRow, ...]
    left_out: int


def _collect(run: ReportedRun, room: Room) -> AlertTable | None:
    found = [one for one in run.events if one.name == ALERT_SENT]
    most = room.limit(_MOST_ROWS)
    text = run.text
    rows = tuple(
        AlertRow(
            at=run.format_time(one.at),
            about=text.line(_describe_subject(one.fields.get("about", ENDED))),
            channel=text.line(one.fields.get("channel")),
            state=text.line(one.fields.get("state")),
            detail=text.line(one.fields.get("accepted") or one.fields.get("problem")),
        )
        for one in found[-most:]
    )
    return AlertTable(rows, len(found) - len(rows)) if rows else None


def _describe_subject(about: object) -> str:
    if about == ENDED:
        return "end of the run"
    return f"warning of {str(about).removeprefix(EARLY).replace('_', ' ')}"


SECTION = Section("Alerts", order=100, most_bytes=10_000, collect=_collect)
