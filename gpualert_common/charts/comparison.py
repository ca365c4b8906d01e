"""Losses and rates of several runs over one axis, which counts their steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from gpualert_common.charts.line_thinning import Window, make_line, thin_line
from gpualert_common.charts.timeline import ChartLine, Panel, Timeline
from gpualert_common.charts.training_panels import TimedPoint, make_measure_panel
from gpualert_common.progress import Point, Progress, list_moments
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.structs import replace

NamedProgress = tuple[str, Progress]
_MOST_RATES = 60
_MOST_UNIT = 16


def compare_progress(named: Sequence[NamedProgress], sanitizer: TextSanitizer) -> Timeline:
    """Return the losses and rates of runs, each by its name, over their steps or epochs.

    It has no panels where no run has a position with a loss or a time.
    """
    placed = [(name, _place(progress.points), _place(progress.evals)) for name, progress in named]
    places = [at for _name, points, evals in placed for at, _point in (*points, *evals)]
    if not places:
        return Timeline(0.0, 0.0)
    window = Window(min(places), max(places))
    units = {progress.unit for _name, progress in named if progress.points}
    unit = sanitizer.line(units.pop(), _MOST_UNIT) if len(units) == 1 else ""
    panels = [
        make_measure_panel("Training loss", "loss", [one[:2] for one in placed], window),
        make_measure_panel("Evaluation loss", "loss", [(one[0], one[2]) for one in placed], window),
        _make_rate_panel(named, window, f"{unit or 'step'}s/s"),
    ]
    return Timeline(
        window.began_at,
        window.ended_at,
        tuple(_add_missing(panel, [one[0] for one in named]) for panel in panels if panel),
        unit=unit or "step",
    )


def _add_missing(panel: Panel, names: Sequence[str]) -> Panel:
    """Return the panel with a line for each name, empty where a run has none.

    The colour of a line follows from its place, so that each run keeps its colour.
    """
    lines = {line.name: line for line in panel.lines}
    return replace(panel, lines=tuple(lines.get(name, ChartLine(name, (), ())) for name in names))


def _place(points: Sequence[Point]) -> list[TimedPoint]:
    """Return the points with their positions, in ascending order."""
    known = [(float(at), point) for point in points if (at := point.position) is not None]
    return sorted(known, key=lambda pair: pair[0])


def _make_rate_panel(named: Sequence[NamedProgress], window: Window, unit: str) -> Panel | None:
    lines = [
        thin_line(line)
        for name, progress in named
        if (line := make_line(name, _list_rates(progress), window, has_gaps=False)) is not None
    ]
    return Panel("Rate", unit, tuple(lines)) if lines else None


def _list_rates(progress: Progress) -> Iterator[tuple[float, float, float, float]]:
    """Yield positions and steps per second, of the last segment."""
    last = progress.points[-1].segment if progress.points else 0
    timed = list_moments(point for point in progress.points if point.segment == last)
    kept = timed[:: max(1, -(-len(timed) // _MOST_RATES))]
    for (before_at, before), (after_at, after) in itertools.pairwise(kept):
        if after_at > before_at and after > before:
            rate = (after - before) / (after_at - before_at)
            yield after, rate, rate, rate
