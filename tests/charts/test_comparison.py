"""Losses and rates of two runs over their steps."""

from __future__ import annotations

from pathlib import Path

from gpualert_common.charts.comparison import compare_progress
from gpualert_common.charts.drawing import draw_svg
from gpualert_common.charts.summary import summarize_panels
from gpualert_common.charts.timeline import Timeline
from gpualert_common.progress import Point, Progress
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.run_progress import read_progress
from tests.charts.composed import ComposedRun


def compare(folder: Path, *runs: ComposedRun) -> Timeline:
    """Return the chart of composed runs, named A, B, and so on."""
    named = [
        (name, read_progress(run.compose(folder / name)))
        for name, run in zip("ABC", runs, strict=False)
    ]
    return compare_progress(named, TextSanitizer(NoMasks()))


def test_runs_share_an_axis_of_steps(tmp_path: Path) -> None:
    """Two runs of other lengths have a line each, over the steps and not over the time."""
    chart = compare(tmp_path, ComposedRun(steps=400), ComposedRun(length_s=60.0, steps=100))
    assert (chart.unit, chart.began_at, chart.ended_at) == ("step", 1.0, 400.0)
    assert [panel.title for panel in chart.panels] == ["Training loss", "Rate"]
    for panel in chart.panels:
        assert [line.name for line in panel.lines] == ["A", "B"]
        assert panel.lines[0].at[-1] > panel.lines[1].at[-1]
    rates = {row.line: float(row.last) for row in summarize_panels(chart) if row.panel == "Rate"}
    assert rates["B"] / rates["A"] > 10


def test_rate_of_steps_that_arrive_together() -> None:
    """Ten steps that arrive at once each second are ten steps per second, and not one."""
    points = tuple(
        Point("output.log", number, number, step=number, at=1000.0 + number // 10)
        for number in range(100)
    )
    named = (("A", Progress(files=("output.log",), points=points)),)
    panel = compare_progress(named, TextSanitizer(NoMasks())).panels[-1]
    assert panel.title == "Rate"
    assert [value for value in panel.lines[0].value if value != 10.0] == []


def test_a_loss_that_is_not_finite_is_shown(tmp_path: Path) -> None:
    """The steps whose loss is NaN are marked, and break the line of that run only."""
    chart = compare(tmp_path, ComposedRun(steps=50), ComposedRun(steps=50, nan_from=40))
    whole, broken = chart.panels[0].lines
    assert whole.not_finite_at == ()
    assert min(broken.not_finite_at) == 40.0


def test_a_run_keeps_its_colour(tmp_path: Path) -> None:
    """A run without losses does not give its colour to the other run."""
    empty = Progress(files=("output.log",))
    other = read_progress(ComposedRun(steps=50).compose(tmp_path / "B"))
    chart = compare_progress((("A", empty), ("B", other)), TextSanitizer(NoMasks()))
    assert [[line.name for line in panel.lines] for panel in chart.panels] == [["A", "B"]] * 2
    picture = draw_svg(chart)
    assert ">B</title>" in picture
    assert ">A</title>" not in picture


def test_picture_names_its_axis(tmp_path: Path) -> None:
    """The picture says that its axis counts steps, in words for screen readers, too."""
    picture = draw_svg(compare(tmp_path, ComposedRun(steps=300), ComposedRun(steps=200)))
    assert "Chart from step 1 to step 300" in picture
    assert ">step</text>" in picture
    assert "since the launch" not in picture


def test_runs_without_steps_have_no_chart() -> None:
    """Logs without steps give a chart without panels."""
    empty = Progress(files=("output.log",))
    chart = compare_progress((("A", empty), ("B", empty)), TextSanitizer(NoMasks()))
    assert chart.panels == ()
