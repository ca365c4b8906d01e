"""Text description of a progress, with a chart of its losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from gpualert_common.median import median
from gpualert_common.progress.beginnings import determine_start
from gpualert_common.progress.model import Checkpoint, CheckpointAction, Point, Progress

_ROWS = 8
_LEAST_COLUMNS = 40
_MOST_COLUMNS = 100
_LABEL_COLUMNS = 12
_FEW = 3
_MOST = 1e100
_WIDE = 30
"""Ratio of the highest to the lowest loss from which the chart is logarithmic."""


def describe_progress(progress: Progress, columns: int = 0) -> list[str]:
    """Return lines of text, with a chart of the losses if *columns* are enough for it."""
    lines = [f"{'log':11} {_clean(', '.join(progress.files))}: {_format_size(progress)}"]
    framework = progress.framework or "none recognised"
    flavour = f" ({progress.flavour})" if progress.flavour else ""
    lines.append(f"{'framework':11} {framework}{flavour}")
    lines += [f"{name:11} {_clean(text)}" for name, text in _list_facts(progress)]
    lines += draw_chart(progress.points, columns)
    return lines


def _list_facts(progress: Progress) -> Iterator[tuple[str, str]]:
    counts = progress.counts
    if progress.points:
        yield "steps", _format_steps(progress)
    points = [point for point in progress.points if point.loss is not None]
    if points:
        yield "loss", _format_losses(points)
    odd = next((point for point in progress.points if not point.is_finite), None)
    if odd is not None:
        many = f"{counts.non_finite} times" if counts.non_finite > 1 else "once"
        yield "not finite", f"{many}, first at {_format_position(odd)}"
    if progress.evals:
        first, last = progress.evals[0], progress.evals[-1]
        text = f"{counts.evals}, loss {_format_number(first.loss)} first"
        text += f", {_format_number(last.loss)} last"
        yield "evaluations", f"{text} (line {last.line})"
    lost = {
        "steps skipped": counts.skipped_steps,
        "overflows": counts.overflows,
        "nan iterations": counts.nan_iterations,
    }
    if any(lost.values()):
        yield "lost", ", ".join(f"{count} {name}" for name, count in lost.items() if count)
    yield from _list_events(progress)
    for why in progress.unverifiable:
        yield "unknown", why
    for note in progress.notes:
        yield "note", note


def _list_events(progress: Progress) -> Iterator[tuple[str, str]]:
    start, because = determine_start(progress)
    if progress.points or progress.markers:
        yield "began", "; ".join((start, *because))
    if len(progress.segments) > 1:
        parts = [f"{one.first_step}-{one.last_step}" for one in progress.segments[:_FEW]]
        more = ", ..." if len(progress.segments) > _FEW else ""
        yield "segments", f"{len(progress.segments)}, steps {', '.join(parts)}{more}"
    for action in CheckpointAction:
        of_action = [one for one in progress.checkpoints if one.action is action]
        if of_action:
            yield (
                "checkpoints",
                f"{len(of_action)} {action}, last {_format_checkpoint(of_action[-1])}",
            )
    for ending in progress.endings[-_FEW:]:
        yield "ended", f"{ending.kind.replace('_', ' ')} (line {ending.line}): {ending.text}"


def _format_size(progress: Progress) -> str:
    if not progress.unread_bytes:
        return f"{progress.read_bytes:,} bytes"
    size = progress.read_bytes + progress.unread_bytes
    return f"{size:,} bytes, of which {progress.unread_bytes:,} were skipped as a flood"


def _format_steps(progress: Progress) -> str:
    counts = progress.counts
    text = f"{counts.points} {progress.unit}s logged"
    if counts.last_step is not None:
        total = f" of {counts.total_steps}" if counts.total_steps else ""
        text = f"{counts.first_step} to {counts.last_step}{total}, {counts.points} logged"
        text += f" (counted in {progress.unit}s)" if progress.unit != "step" else ""
    if counts.last_epoch is not None:
        of_epochs = f" of {counts.total_epochs:g}" if counts.total_epochs else ""
        text += f", epoch {counts.last_epoch:.4g}{of_epochs}"
    return text


def _format_losses(points: Sequence[Point]) -> str:
    first, last = points[0], points[-1]
    finite = [point for point in points if point.is_finite]
    text = (
        f"{_format_number(first.loss)} first (line {first.line}), {_format_number(last.loss)} last"
    )
    text += f" (line {last.line})"
    if finite:
        best = min(finite, key=lambda point: point.loss or 0.0)
        text += f", {_format_number(best.loss)} lowest (line {best.line})"
    return text


def _format_position(point: Point) -> str:
    step = "" if point.step is None else f"step {point.step}, "
    return f"{step}line {point.line}"


def _format_checkpoint(checkpoint: Checkpoint) -> str:
    step = "" if checkpoint.step is None else f"at step {checkpoint.step} "
    path = "" if checkpoint.path is None else f": {checkpoint.path}"
    return f"{step}(line {checkpoint.line}){path}"


def _format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"


def _clean(text: str) -> str:
    """Return *text* without control characters."""
    return "".join(char if char.isprintable() else "?" for char in text)


def draw_chart(points: Sequence[Point], columns: int) -> list[str]:
    """Return the losses in their order as rows of characters.

    ``*`` is the median of a column, ``x`` marks a loss that is not finite.  Empty for fewer than
    two losses, or too few *columns*.
    """
    points = [point for point in points if point.loss is not None]
    width = min(columns - _LABEL_COLUMNS - 1, _MOST_COLUMNS, len(points))
    if columns < _LEAST_COLUMNS or width < 2:
        return []
    groups = [
        points[len(points) * i // width : len(points) * (i + 1) // width or 1] for i in range(width)
    ]
    losses = [
        [one.loss for one in group if one.loss is not None and abs(one.loss) < _MOST]
        for group in groups
    ]
    medians = [median(one) if one else None for one in losses]
    known = [one for one in medians if one is not None]
    if not known:
        return []
    low, high = min(known), max(known)
    height: Callable[[float], float] = math.log if low > 0 and high > _WIDE * low else float
    base, scale = height(low), (height(high) - height(low)) or 1.0
    rows = [[" "] * width for _ in range(_ROWS)]
    for column, middle in enumerate(medians):
        if middle is not None:
            row = _ROWS - 1 - round((height(middle) - base) / scale * (_ROWS - 1))
            rows[row][column] = "*"
        if any(not one.is_finite for one in groups[column]):
            rows[0][column] = "x"
    labels = {0: _format_number(high), _ROWS - 1: _format_number(low)}
    return [
        f"{labels.get(row, ''):>{_LABEL_COLUMNS - 1}} |{''.join(cells).rstrip()}"
        for row, cells in enumerate(rows)
    ]
