"""The last lines of the logs, as a terminal shows them."""

from __future__ import annotations

from gpualert_common.artifacts import read_last_lines
from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.report.formatting import size
from gpualert_common.structs import Struct

_MOST_LINES = 100


class LogEnd(Struct, frozen=True):
    """Last lines, oldest first, and the size of all logs."""

    lines: tuple[str, ...]
    size: str


def _collect(run: ReportedRun, room: Room) -> LogEnd | None:
    lines = read_last_lines(run.record, run.masks, room.limit(_MOST_LINES))
    if not lines:
        return None
    shown = tuple(run.text.log_line(line) for line in lines)
    return LogEnd(shown, size(run.view.log_bytes))


SECTION = Section("End of the log", order=30, most_bytes=60_000, collect=_collect)
