"""Panels of a training, from its progress: losses and rate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpualert_common.charts.line_thinning import (
    MOST_POINTS,
    Window,
    is_drawable,
    make_line,
    thin_line,
)
from gpualert_common.charts.timeline import ChartLine, Panel
from gpualert_common.progress import Point, Progress
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.structs import replace

_LOGARITHMIC_FROM = 30.0
"""Ratio of the largest loss to the least from which only a logarithmic axis shows both."""
_LEAST_LOGARITHM = 1e-100
_MOST_RATES = MOST_POINTS // 2
_LEAST_TIMES = 3
"""Lines that all arrived together show no rate."""
_LEAST_RATE_S = 5.0
"""Shortest time over which a rate is measured: output is timed to a second or so, and a shorter one
would show how it arrived.  Of a short run it is a sixth."""
_LEAST_STEPS_PER_S = 0.5
"""A slower training is shown by the minute or by the hour."""
_MOST_UNIT = 16

TimedPoint = tuple[float, Point]


def list_training_panels(
    progress: Progress, window: Window, sanitizer: TextSanitizer
) -> Iterator[Panel]:
    """Yield the panels of the losses and of the rate, as far as the progress has them."""
    points = spread_times(progress.points, window)
    yield from _list_loss_panels(points, spread_times(progress.evals, window), window)
    yield from _list_rate_panels(points, progress.unit, window, sanitizer)


def spread_times(points: Sequence[Point], window: Window) -> list[TimedPoint]:
    """Return the points with times in ascending order.

    Points with one time, such as those that arrived together, are spread over the time since those
    before them.  A point whose time is not known is as late as the window.
    """
    timed = ((window.ended_at if one.at is None else one.at, one) for one in points)
    shown = [(window.clamp(at), one) for at, one in timed if window.holds(at)]
    kept = sorted(shown, key=lambda pair: pair[0])
    found: list[TimedPoint] = []
    before = window.began_at
    start = 0
    while start < len(kept):
        at, end = kept[start][0], start
        while end < len(kept) and kept[end][0] == at:
            end += 1
        step_s = (at - before) / (end - start)
        found += [
            (before + step_s * (index - start + 1), kept[index][1]) for index in range(start, end)
        ]
        before, start = at, end
    return found


def _list_loss_panels(
    points: Sequence[TimedPoint], evals: Sequence[TimedPoint], window: Window
) -> Iterator[Panel]:
    """Yield the losses, or for a training that has none the reward."""
    for title, key in (("Loss", "loss"), ("Reward", "reward")):
        named = (("training", points), ("evaluation", evals))
        panel = make_measure_panel(title, key, named, window)
        if panel is not None:
            yield panel
            return


def make_measure_panel(
    title: str, key: str, named: Iterable[tuple[str, Sequence[TimedPoint]]], window: Window
) -> Panel | None:
    """Return the panel of one measurement, such as "loss", a line for each name; None for none."""
    lines = [
        line
        for name, points in named
        if (line := _make_measure_line(name, key, points, window)) is not None
    ]
    if not lines:
        return None
    least = min((one for line in lines for one in line.low if one is not None), default=0.0)
    most = max((one for line in lines for one in line.high if one is not None), default=0.0)
    is_logarithmic = least > _LEAST_LOGARITHM and most / least >= _LOGARITHMIC_FROM
    thinned = tuple(thin_line(line) for line in lines)
    return Panel(title, "", thinned, is_logarithmic=is_logarithmic, is_floating=True)


def _make_measure_line(
    name: str, key: str, points: Sequence[TimedPoint], window: Window
) -> ChartLine | None:
    """Return the line of one measurement, with a gap where it is not finite."""
    values = [(at, value) for at, one in points if (value := getattr(one, key)) is not None]
    lost = tuple(at for at, value in values if not is_drawable(value))
    samples = ((at, value, value, value) for at, value in values)
    line = make_line(name, samples, window, has_gaps=False)
    if line is None:
        return ChartLine(name, (), (), not_finite_at=lost) if lost else None
    return replace(_break_line(line, lost), not_finite_at=lost)


def _break_line(line: ChartLine, times: Sequence[float]) -> ChartLine:
    """Return a line that has a gap at each of these times."""
    rows = [*zip(line.at, line.value, line.low, line.high, strict=True)]
    gaps: list[tuple[float, float | None, float | None, float | None]]
    gaps = [(at, None, None, None) for at in times]
    ordered = sorted([*rows, *gaps], key=lambda row: row[0])
    at, value, low, high = zip(*ordered, strict=True)
    return replace(line, at=at, value=value, low=low, high=high)


def _list_rate_panels(
    points: Sequence[TimedPoint], unit: str, window: Window, sanitizer: TextSanitizer
) -> Iterator[Panel]:
    """Yield the rate that the training reports, or else the one that its steps show."""
    reported = [(at, one) for at, one in points if one.throughput is not None]
    units = {one.throughput_unit for _at, one in reported}
    if len(reported) >= max(2, len(points) // 4) and len(units) == 1:
        samples = ((at, value, value, value) for at, one in reported if (value := one.throughput))
        line = make_line("reported", samples, window)
        if line is not None:
            name = sanitizer.line(units.pop(), _MOST_UNIT) or "per second"
            yield Panel("Rate", name, (thin_line(line),))
            return
    rates = list(_measure_rates(points, window))
    is_timed = len({one.at for _at, one in points}) >= _LEAST_TIMES
    if rates and is_timed:
        name, factor = _choose_unit(sanitizer.line(unit, _MOST_UNIT) or "step", rates)
        scaled = ((at, rate * factor, rate * factor, rate * factor) for at, rate in rates)
        line = make_line("measured", scaled, window, has_gaps=False)
        if line is not None:
            yield Panel("Rate", name, (thin_line(line),))


def _measure_rates(points: Sequence[TimedPoint], window: Window) -> Iterator[tuple[float, float]]:
    """Yield steps (or epochs) per second, at both ends of each interval that has some steps."""
    length = window.ended_at - window.began_at
    width = max(length / _MOST_RATES, min(_LEAST_RATE_S, length / 6))
    before: TimedPoint | None = None
    for at, point in points:
        position = point.position
        if position is None:
            continue
        former = None if before is None else before[1].position
        if before is None or former is None or before[1].segment != point.segment:
            before = (at, point)
        elif position > former and at - before[0] > max(width, 0.0):
            rate = (position - former) / (at - before[0])
            yield before[0], rate
            yield at, rate
            before = (at, point)


def _choose_unit(unit: str, rates: Sequence[tuple[float, float]]) -> tuple[str, float]:
    """Return the unit in which the usual rate is a readable number, and its factor."""
    usual = sorted(rate for _at, rate in rates)[len(rates) // 2]
    for name, seconds in (("s", 1), ("min", 60)):
        if usual * seconds >= _LEAST_STEPS_PER_S:
            return f"{unit}s/{name}", float(seconds)
    return f"{unit}s/h", 3600.0
