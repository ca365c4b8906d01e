"""Tests of thinning, JSON, merging, times and text of points."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualert_common.codec import decode, encode
from gpualert_common.errors import RecordError
from gpualert_common.progress import (
    Point,
    Progress,
    add_times,
    describe_progress,
    merge_progress,
    read_index,
)
from gpualert_common.progress.description import draw_chart
from gpualert_common.progress.thinning import MOST_POINTS, NON_FINITE_POINTS, PointSeries
from gpualert_common.progress.timestamps import parse_timestamp
from tests.progress.reading import folders, read, read_folder

ALL = [*folders("captured"), *folders("composed")]


def series(losses: list[float]) -> PointSeries:
    """A series of points with these losses."""
    found = PointSeries()
    for i, loss in enumerate(losses):
        found.add(Point("a.log", i + 1, i, step=i, loss=loss))
    return found


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 30_000), st.integers(0, 1000))
def test_thinned_points_show_the_shape(count: int, seed: int) -> None:
    """The first, the last, the extreme and the non-finite points are kept, within the limit."""
    rng = random.Random(seed)
    losses = [
        rng.choice((rng.gauss(3, 1), math.nan if i % 997 == 5 else 1.0)) for i in range(count)
    ]
    kept = series(losses).points()
    assert len(kept) <= min(count, MOST_POINTS)
    assert [point.offset for point in kept] == sorted({point.offset for point in kept})
    finite = [loss for loss in losses if math.isfinite(loss)]
    shown = [point.loss for point in kept if point.loss is not None]
    if finite:
        assert {min(finite), max(finite)} <= set(shown)
    if losses:
        assert (kept[0].offset, kept[-1].offset) == (0, count - 1)
    odd = [i for i, loss in enumerate(losses) if not math.isfinite(loss)]
    assert [point.offset for point in kept if not point.is_finite] == odd


def test_thinned_points_are_evenly_spread() -> None:
    """The first half of a long series keeps about as many points as the second."""
    kept = series([1 + math.sin(i / 50) for i in range(100_000)]).points()
    half = sum(point.offset < 50_000 for point in kept)
    assert 0.3 < half / len(kept) < 0.7


def test_a_million_nans() -> None:
    """Of too many that are not finite the first and the latest are kept."""
    kept = series([1.0] * 10 + [math.nan] * 5000).points()
    odd = [point.offset for point in kept if not point.is_finite]
    assert len(odd) == NON_FINITE_POINTS
    assert (odd[0], odd[-1]) == (10, 5009)


@pytest.mark.parametrize("folder", ALL, ids=lambda folder: folder.name)
def test_json_both_ways(folder: Path) -> None:
    """A progress comes back from JSON as it was, and the JSON is strict: no NaN in it."""
    progress = read_folder(folder)
    text = json.dumps(encode(progress), allow_nan=False)
    assert encode(decode(Progress, json.loads(text), "a.json")) == encode(progress)


def test_json_of_another_age() -> None:
    """A newer schema, or something else, is refused; a key that is not known is passed over."""
    plain = encode(read(b"step 1 loss 0.5\n"))
    assert decode(Progress, {**plain, "later": 1}, "a.json").points
    for wrong in ({**plain, "schema": 2}, {**plain, "counts": 3}, {"schema": 1}, {}):
        with pytest.raises(RecordError):
            decode(Progress, wrong, "a.json")


def test_steps_from_the_other_log() -> None:
    """Losses on stdout get their steps from the bar on stderr, whichever comes first."""
    out = read(b"".join(b"{'loss': 1.5, 'epoch': %.2f}\n" % (i / 10) for i in range(1, 11)))
    bar = "\r".join(f" {i:3d}%|##  | {i}/100 [00:01<00:01, 9.0it/s]" for i in range(101))
    err = read(bar.encode())
    for both in ([out, err], [err, out]):
        merged = merge_progress(both)
        assert merged.framework == "transformers"
        assert [point.step for point in merged.points] == list(range(10, 101, 10))
        assert merged.counts.total_steps == 100
        assert merged.files == tuple(file for one in both for file in one.files)
        assert merged.read_bytes == out.read_bytes + err.read_bytes


def test_merging_one_and_none() -> None:
    """One log is itself, and no log is a mistake."""
    one = read(b"step 1 loss 0.5\n")
    assert merge_progress([one]) is one
    with pytest.raises(ValueError, match="nothing"):
        merge_progress([])


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("[2026-01-02 00:00:10] step 1", 10.0),
        ("2026-01-02T00:00:10.250Z step 1", 10.25),
        ("2026-01-02 01:00:10,250 +0100 step 1", 10.25),
        ("2026/01/02 00:00:10 step 1", 10.0),
        ("[rank0]:[titan] 2026-01-02 00:00:10,5 - root - step: 1", 10.5),
        ("step 1 loss 0.5", None),
        ("2026-13-45 99:00:00 step 1", None),
    ],
)
def test_stamps(line: str, at: float | None) -> None:
    """A date and time in front of a line are seconds since the epoch; UTC without a zone."""
    midnight = 1_767_312_000
    assert parse_timestamp(line.encode()) == (None if at is None else midnight + at)


def test_times_of_arrival() -> None:
    """The time of a point is the time at which the log had that length."""
    progress = read(b"step 1 loss 3\nstep 2 loss 2\nstep 3 loss 1\n")
    index = read_index(b"1.000 10 14\n2.500 20 14\nbroken\n3.000 30 42\n", 1000.0, 1)
    assert index == [(1001.0, 14), (1003.0, 42)]
    assert [point.at for point in add_times(progress, index).points] == [1001.0, 1003.0, 1003.0]
    assert [point.at for point in add_times(progress, index[:1]).points] == [1001.0, None, None]
    assert add_times(progress, []) == progress


def test_stamps_get_the_zone_of_the_arrivals() -> None:
    """Timestamps in local time move by whole quarters of an hour and keep their fractions."""
    log = b"".join(b"2026-01-02 05:30:%02d,500 step %d loss 1\n" % (i, i) for i in range(1, 4))
    progress = read(log)
    midnight = 1_767_312_000
    arrivals = [(midnight + 2.0, len(log) // 3), (midnight + 9.0, len(log))]
    times = [point.at for point in add_times(progress, arrivals).points]
    assert times == [midnight + 1.5, midnight + 2.5, midnight + 3.5]


def test_description() -> None:
    """The text has the lines of the losses, and no control character."""
    log = b"resuming from \x1b]0;x\x07out\x9b.pt\nstep 1 loss 3\nstep 2 loss nan\nstep 3 loss 1\n"
    lines = describe_progress(read(log))
    text = "\n".join(lines)
    assert "3 first (line 2), 1 last (line 4), 1 lowest (line 4)" in text
    assert "once, first at step 2, line 3" in text
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("folder", ALL, ids=lambda folder: folder.name)
def test_description_of_every_log(folder: Path) -> None:
    """Every progress has a text and a chart that fits."""
    progress = read_folder(folder)
    picture = draw_chart(progress.points, 80)
    assert all(len(line) <= 80 for line in picture)
    assert len(describe_progress(progress, 80)) > 1


def losses(*values: float) -> Progress:
    """The progress of a log with these losses."""
    return read(b"".join(b"step %d loss %f\n" % one for one in enumerate(values, 1)))


def test_chart() -> None:
    """The chart falls where the loss falls, and marks values that are not finite."""
    rows = draw_chart(losses(4, 3, 2, math.nan, 1).points, 80)
    assert rows[0].endswith("|*  x")
    assert rows[-1].split("|") == ["          1 ", "    *"]
    assert draw_chart(losses(4, 3, 2, 1).points, 20) == []
    assert draw_chart(losses(4).points, 80) == []
    assert draw_chart(losses(2, 2, 2).points, 80)[-1].endswith("***")
