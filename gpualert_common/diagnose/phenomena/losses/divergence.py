"""A training that succeeded but learned nothing: its loss stayed NaN, rose, or stayed flat.

Losses that are not finite up to the last one are ``nan_loss``, also if the log has no message about
them.  So are norms of the gradient, if steps were skipped because of them up to the end and the
loss did not fall in that time.  A loss has diverged if its last quarter is well above its first
quarter and it has not recovered from its peak.  It is flat if it moved less than the noise of a
mini-batch and the learning rate or the gradient was almost zero.  Losses near zero, and losses of
methods that optimise a reward or train two models against each other, are not checked for either.
If one log holds several trainings, such as those of a sweep, the last one counts, and only as a
warning.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import takewhile

from gpualert_common.classify.details import Scalar
from gpualert_common.command_options import is_evaluation
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.phenomena.losses._trainings import level, split_trainings
from gpualert_common.median import median
from gpualert_common.model import Claim, LogLocation
from gpualert_common.progress import Point, Progress

FAMILY = "E1"
_NONE = frozenset(("none",))
_PARTS = 8


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the conclusions from the losses of a successful run."""
    progress = evidence.progress
    if progress is None or not evidence.is_completed:
        return
    lost = _not_finite(progress)
    if lost is not None:
        yield lost
        return
    trainings = split_trainings(progress)
    if not trainings or len(trainings[-1]) < thresholds.LEAST_POINTS:
        return
    is_free = progress.by_reward or is_evaluation(evidence.command)
    found = None if is_free else _not_learning(trainings[-1])
    if found is not None and len(trainings) > 1:
        because = f"{found.because}, in the last of {len(trainings)} trainings in its log"
        yield Finding(FAMILY, Weight.WARNS, because, kind="not_learning", claims=found.claims)
    elif found is not None:
        yield found


def _not_finite(progress: Progress) -> Finding | None:
    """Return the finding for losses, or norms of the gradient, that are not finite to the end."""
    with_loss = [point for point in progress.points if point.loss is not None]
    lost = list(takewhile(_is_lost, reversed(with_loss)))
    if len(lost) >= thresholds.NAN_LOSSES:
        text = f"the losses are not finite from line {lost[-1].line} to the end"
        return _found(text, "nan_loss", 0.95, (lost[-1], with_loss[-1]))
    skipped = list(takewhile(lambda point: not point.is_finite, reversed(with_loss)))[::-1]
    quarter = len(skipped) // 4
    if len(skipped) < thresholds.NAN_NORMS:
        return None
    began, ended = level(skipped[:quarter]), level(skipped[-quarter:])
    if began - ended > thresholds.FLAT_RANGE * abs(began):
        return None
    text = f"the norm of the gradient is not finite from line {skipped[0].line} to the end"
    return _found(text, "nan_loss", 0.85, (skipped[0], skipped[-1]))


def _is_lost(point: Point) -> bool:
    """Return whether a loss is not a number; Transformers prints 0 for a loss that it drops."""
    return point.loss is not None and not (
        math.isfinite(point.loss) and (point.is_finite or point.loss != 0)
    )


def _not_learning(points: Sequence[Point]) -> Finding | None:
    """Return the finding for a loss that rose, or stayed flat."""
    quarter = len(points) // 4
    began, ended = level(points[:quarter]), level(points[-quarter:])
    details = {"first_loss": _short(began), "last_loss": _short(ended)}
    edges = (points[0], points[-1])
    if abs(began) < thresholds.LEAST_LOSS:
        return None
    rose = began > 0 and ended > thresholds.DIVERGED_RATIO * began
    if rose and _is_still_up(points, began):
        text = f"the loss rose from {_short(began)} to {_short(ended)}"
        return _found(text, "not_learning", 0.85, edges, {**details, "kind": "diverged"})
    if not rose and _measure_range(points) < thresholds.FLAT_RANGE * abs(began) and _stands(points):
        text = f"the loss stayed at {_short(ended)}; learning rate or gradient was almost zero"
        return _found(text, "not_learning", 0.85, edges, {**details, "kind": "flat"})
    return None


def _found(
    text: str,
    cause: str,
    confidence: float,
    points: Sequence[Point],
    details: dict[str, Scalar] | None = None,
) -> Finding:
    return Finding(
        FAMILY,
        Weight.DECIDES,
        text,
        cause=cause,
        confidence=confidence,
        over=_NONE,
        claims=tuple(claim_of_point(point) for point in points),
        details=details or {},
    )


def claim_of_point(point: Point) -> Claim:
    """Return the claim of one line of a training's progress."""
    where = LogLocation(point.file, point.line, point.offset)
    values = {"step": point.step, "epoch": point.epoch, "loss": point.loss}
    text = ", ".join(f"{name} {value:g}" for name, value in values.items() if value is not None)
    return Claim(text, "progress", where)


def _is_still_up(points: Sequence[Point], began: float) -> bool:
    """Return whether a loss is still near its peak, in orders of magnitude."""
    now, peak = level(points[-len(points) // _PARTS :]), _highest(points)
    return now / began >= math.pow(peak / began, thresholds.STILL_UP)


def _highest(points: Sequence[Point]) -> float:
    """Return the highest level of an eighth of the losses."""
    each = max(1, len(points) // _PARTS)
    return max(level(points[at : at + each]) for at in range(0, len(points) - each + 1, each))


def _measure_range(points: Sequence[Point]) -> float:
    losses = [point.loss for point in points if point.loss is not None]
    return max(losses) - min(losses)


def _stands(points: Sequence[Point]) -> bool:
    """Return whether learning rate or gradient was almost zero nearly all of the time."""
    rates = [abs(point.learning_rate) for point in points if point.learning_rate is not None]
    norms = [abs(one.grad_norm) for one in points if one.grad_norm is not None and one.is_finite]
    without_rate = bool(rates) and median(rates) <= thresholds.NO_RATE
    return without_rate or (bool(norms) and median(norms) <= thresholds.NO_GRADIENT)


def _short(value: float) -> float:
    """Return a loss with four digits."""
    return float(f"{value:.4g}") if math.isfinite(value) else value
