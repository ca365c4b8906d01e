"""E1, a training that ended well and did not learn: NaN to the end, a loss that rose, or stood.

Losses that are not finite to the last one are ``nan_loss``, also where the log says nothing else of
them; a norm of the gradient alone is that where steps were skipped for it to the end, and the loss
did not fall meanwhile.  A loss has diverged when its last quarter lies well above its first and it
has not come down from its peak; it is flat when it moved less than a mini-batch's noise and the
learning rate or the gradient was next to nothing.  Losses near zero, and those of methods that
optimise a reward or set two models against each other, say neither.  Of several trainings in one
log, as of a sweep, the last is looked at, which is told and decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import takewhile
from statistics import median

from gpualert_common.classify.details import Scalar
from gpualert_common.command_options import evaluates
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.families._losses import level, trainings_of
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.model import Claim, Where
from gpualert_common.progress import Point, Progress

FAMILY = "E1"
_NONE = frozenset(("none",))
_PARTS = 8


def judge(evidence: Evidence) -> Iterator[Finding]:
    """What the losses say of a run that ended well."""
    progress = evidence.progress
    if progress is None or not evidence.completed:
        return
    lost = _not_finite(progress)
    if lost is not None:
        yield lost
        return
    trainings = trainings_of(progress)
    if not trainings or len(trainings[-1]) < thresholds.LEAST_POINTS:
        return
    is_free = progress.by_reward or evaluates(evidence.command)
    found = None if is_free else _not_learning(trainings[-1])
    if found is not None and len(trainings) > 1:
        because = f"{found.because}, in the last of {len(trainings)} trainings that its log tells"
        yield Finding(FAMILY, Weight.WARNS, because, kind="not_learning", claims=found.claims)
    elif found is not None:
        yield found


def _not_finite(progress: Progress) -> Finding | None:
    """Losses, or norms of the gradient, that are not finite to the end."""
    told = [point for point in progress.points if point.loss is not None]
    lost = list(takewhile(_is_lost, reversed(told)))
    if len(lost) >= thresholds.NAN_LOSSES:
        said = f"the losses are not finite from line {lost[-1].line} to the end"
        return _found(said, "nan_loss", 0.95, (lost[-1], told[-1]))
    skipped = list(takewhile(lambda point: not point.finite, reversed(told)))[::-1]
    quarter = len(skipped) // 4
    if len(skipped) < thresholds.NAN_NORMS:
        return None
    began, ended = level(skipped[:quarter]), level(skipped[-quarter:])
    if began - ended > thresholds.FLAT_RANGE * abs(began):
        return None
    said = f"the norm of the gradient is not finite from line {skipped[0].line} to the end"
    return _found(said, "nan_loss", 0.85, (skipped[0], skipped[-1]))


def _is_lost(point: Point) -> bool:
    """True for a loss that is no number; Transformers prints 0 for one that it has filtered out."""
    return point.loss is not None and not (
        math.isfinite(point.loss) and (point.finite or point.loss != 0)
    )


def _not_learning(points: Sequence[Point]) -> Finding | None:
    """A loss that rose, or stood."""
    quarter = len(points) // 4
    began, ended = level(points[:quarter]), level(points[-quarter:])
    details = {"first_loss": _short(began), "last_loss": _short(ended)}
    edges = (points[0], points[-1])
    if abs(began) < thresholds.LEAST_LOSS:
        return None
    rose = began > 0 and ended > thresholds.DIVERGED_RATIO * began
    if rose and _is_still_up(points, began):
        said = f"the loss rose from {_short(began)} to {_short(ended)}"
        return _found(said, "not_learning", 0.85, edges, {**details, "kind": "diverged"})
    if not rose and _moved(points) < thresholds.FLAT_RANGE * abs(began) and _stands(points):
        said = f"the loss stayed at {_short(ended)}, and nothing was left to change it"
        return _found(said, "not_learning", 0.85, edges, {**details, "kind": "flat"})
    return None


def _found(
    said: str,
    cause: str,
    confidence: float,
    points: Sequence[Point],
    details: dict[str, Scalar] | None = None,
) -> Finding:
    return Finding(
        FAMILY,
        Weight.DECIDES,
        said,
        cause=cause,
        confidence=confidence,
        over=_NONE,
        claims=tuple(claim_of(point) for point in points),
        details=details or {},
    )


def claim_of(point: Point) -> Claim:
    """What one line of a training's progress says."""
    where = Where(point.file, point.line, point.offset)
    told = {"step": point.step, "epoch": point.epoch, "loss": point.loss}
    said = ", ".join(f"{name} {value:g}" for name, value in told.items() if value is not None)
    return Claim(said, "progress", where)


def _is_still_up(points: Sequence[Point], began: float) -> bool:
    """By orders of magnitude: one that blows up swings by as much from step to step."""
    now, peak = level(points[-len(points) // _PARTS :]), _highest(points)
    return now / began >= math.pow(peak / began, thresholds.STILL_UP)


def _highest(points: Sequence[Point]) -> float:
    """The highest level of an eighth of the losses."""
    each = max(1, len(points) // _PARTS)
    return max(level(points[at : at + each]) for at in range(0, len(points) - each + 1, each))


def _moved(points: Sequence[Point]) -> float:
    losses = [point.loss for point in points if point.loss is not None]
    return max(losses) - min(losses)


def _stands(points: Sequence[Point]) -> bool:
    """True where learning rate or gradient was next to nothing nearly all of the time."""
    rates = [abs(point.learning_rate) for point in points if point.learning_rate is not None]
    norms = [abs(one.grad_norm) for one in points if one.grad_norm is not None and one.finite]
    without_rate = bool(rates) and median(rates) <= thresholds.NO_RATE
    return without_rate or (bool(norms) and median(norms) <= thresholds.NO_GRADIENT)


def _short(value: float) -> float:
    """Four digits, which is what people compare losses by."""
    return float(f"{value:.4g}") if math.isfinite(value) else value
