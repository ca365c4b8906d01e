"""The newest trace: where the time of each rank goes, and which rank the others wait for."""

from __future__ import annotations

from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.report.trace_text import choose_ranks, list_ranks, list_times, render_rank
from gpualert_common.structs import Struct
from gpualert_common.traces.trace_finding import describe_analysis

_MOST_RANKS = 32
_MOST_SENTENCES = 16


class RankTimes(Struct, frozen=True):
    """The mean times of a step of one rank, in the order of the titles."""

    name: str
    cells: tuple[str, ...]
    is_slow: bool


class RankDetails(Struct, frozen=True):
    """The details of one rank as lines of text."""

    title: str
    lines: tuple[str, ...]


class ShownTrace(Struct, frozen=True):
    """The finding of a trace, and the times of its ranks; more ranks are only counted."""

    taken_at: str
    headline: str
    shows: tuple[str, ...]
    implies: str
    cannot_decide: tuple[str, ...]
    titles: tuple[str, ...]
    rows: tuple[RankTimes, ...]
    left_out: int
    details: tuple[RankDetails, ...]


def _collect(run: ReportedRun, room: Room) -> ShownTrace | None:
    if run.trace is None:
        return None
    analysis, result = run.trace.analysis, run.trace.trace.result
    finding = describe_analysis(analysis)
    ranks = list_ranks(analysis, room.limit(_MOST_RANKS))
    names, *columns = list_times(ranks)
    slow = analysis.comparison.delay.rank if analysis.comparison.delay else ""
    rows = tuple(
        RankTimes(
            run.text.line(names.cells[index]),
            tuple(column.cells[index] for column in columns),
            one.rank == slow,
        )
        for index, one in enumerate(ranks)
    )
    most = room.limit(_MOST_SENTENCES)
    return ShownTrace(
        taken_at=run.format_time(result.start_at if result else None),
        headline=run.text.prose(finding.headline[0].upper() + finding.headline[1:]),
        shows=tuple(map(run.text.prose, finding.shows[:most])),
        implies=run.text.prose(finding.implies),
        cannot_decide=tuple(map(run.text.prose, finding.cannot_decide[:most])),
        titles=tuple(column.title for column in columns),
        rows=rows,
        left_out=len(analysis.ranks) - len(rows),
        details=tuple(
            RankDetails(run.text.line(title), tuple(map(run.text.log_line, lines)))
            for title, *lines in (render_rank(one) for one in choose_ranks(analysis))
        ),
    )


SECTION = Section("Trace", order=67, most_bytes=20_000, collect=_collect)
