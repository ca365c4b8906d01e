"""A training that succeeded but learned nothing: its loss stayed NaN, rose, or stayed flat.

Losses that are not finite up to the last one are ``nan_loss``, also if the log has no message about
them.  So are norms of the gradient, if steps were skipped because of them up to the end and the
loss did not fall in that time.  A loss has diverged if its last quarter is well above its first
quarter and it has not recovered from its peak.  It is flat if it moved less than the noise of a
mini-batch and the learning rate or the gradient was almost zero.  It stays at chance level if it is
where guessing among a known number of classes or words puts it (ln C), after the first quarter and
without a fall.  Losses near zero that move, and losses of methods that optimise a reward or train
two models against each other, are not checked for these; a reward counts if it was 0 at every step
and so was the gradient.  If one log holds several trainings, such as those of a sweep, the last one
counts, and only as a warning.  A log whose end is not known is judged like one of a success.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import takewhile

from gpualert_common.classify.details import Scalar
from gpualert_common.command_options import is_evaluation
from gpualert_common.diagnose import thresholds, training_thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.phenomena.losses._chance import find_chance_level
from gpualert_common.diagnose.phenomena.losses._trainings import level, split_trainings
from gpualert_common.median import median
from gpualert_common.model import Claim, LogLocation
from gpualert_common.progress import Point, Progress
from gpualert_common.structs import replace

FAMILY = "E1"
_NONE = frozenset(("none",))
_PARTS = 8


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the conclusions from the losses of a successful run."""
    progress = evidence.progress
    if progress is None or not evidence.may_be_completed:
        return
    lost = _not_finite(progress)
    if lost is not None:
        yield lost
        return
    trainings = split_trainings(progress)
    if not trainings or is_evaluation(evidence.command):
        return
    points = trainings[-1]
    found = _no_reward(points) if progress.by_reward else _not_learning(points, progress)
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
    if began - ended > training_thresholds.FLAT_RANGE * abs(began):
        return None
    text = f"the norm of the gradient is not finite from line {skipped[0].line} to the end"
    return _found(text, "nan_loss", 0.85, (skipped[0], skipped[-1]))


def _is_lost(point: Point) -> bool:
    """Return whether a loss is not a number; Transformers prints 0 for a loss that it drops."""
    return point.loss is not None and not (
        math.isfinite(point.loss) and (point.is_finite or point.loss != 0)
    )


def _not_learning(points: Sequence[Point], progress: Progress) -> Finding | None:
    """Return the finding for a loss that rose, stayed flat, or stayed at chance level."""
    details = describe_losses(points)
    if len(points) >= training_thresholds.LEAST_POINTS:
        quarter = len(points) // 4
        began, ended = level(points[:quarter]), level(points[-quarter:])
        is_small = abs(began) < training_thresholds.LEAST_LOSS
        rose = began > 0 and ended > training_thresholds.DIVERGED_RATIO * began
        if rose and not is_small and _is_still_up(points, began):
            highest = max(points, key=lambda point: point.loss or 0.0)
            text = (
                "the loss of the last quarter is {:.3g} times that of the first, by their medians"
            )
            details |= {"kind": "diverged", "highest_loss": highest.loss}
            text = text.format(ended / began)
            return _found(text, "not_learning", 0.85, (points[0], highest, points[-1]), details)
        moved = _measure_range(points)
        is_flat = moved == 0 if is_small else moved < training_thresholds.FLAT_RANGE * abs(began)
        if not rose and is_flat and _stands(points):
            text = "the loss did not move, and the learning rate or the gradient was almost zero"
            edges = (points[0], points[-1])
            return _found(text, "not_learning", 0.85, edges, {**details, "kind": "flat"})
    return _stays_at_chance(points, progress, details)


def _stays_at_chance(
    points: Sequence[Point], progress: Progress, details: dict[str, Scalar]
) -> Finding | None:
    """Return the finding for a loss that stays where guessing puts it."""
    chance = find_chance_level(points, progress)
    if chance is None or chance.claim is None:
        return None
    settled = points[len(points) // 4 :]
    text = (
        f"after the first quarter the losses ({_shown(settled)}) stay within 1 % of {chance},"
        f" and do not fall; {chance.sign}"
    )
    details |= {"kind": "chance", "classes": chance.count}
    found = _found(text, "not_learning", 0.85, (points[0], points[-1]), details)
    where = LogLocation(settled[0].file, settled[0].line, settled[0].offset)
    return replace(found, claims=(Claim(text, "progress", where), chance.claim, *found.claims))


def _shown(points: Sequence[Point]) -> str:
    """Return the lowest and the highest loss in words."""
    losses = [point.loss for point in points if point.loss is not None]
    return f"{len(losses)}, from {min(losses):g} to {max(losses):g}"


def _no_reward(points: Sequence[Point]) -> Finding | None:
    """Return the finding for rewards, and norms of the gradient, that were always exactly 0."""
    known = [point for point in points if point.reward is not None and point.grad_norm is not None]
    if len(known) < training_thresholds.LEAST_POINTS or any(
        one.reward or one.grad_norm for one in known
    ):
        return None
    text = f"reward and gradient norm were exactly 0 in all {len(known)} logged steps"
    return _found(text, "not_learning", 0.85, (known[0], known[-1]), {"kind": "no_reward"})


def select_extremes(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the points with the first, the lowest and the last loss."""
    lowest = min(points, key=lambda point: math.inf if point.loss is None else point.loss)
    return tuple(dict.fromkeys((points[0], lowest, points[-1])))


def describe_losses(points: Sequence[Point]) -> dict[str, Scalar]:
    """Return the first, the last and the lowest loss, as the log has them."""
    losses = [point.loss for point in points if point.loss is not None]
    return {"first_loss": losses[0], "last_loss": losses[-1], "lowest_loss": min(losses)}


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
    return now / began >= math.pow(peak / began, training_thresholds.STILL_UP)


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
    without_rate = bool(rates) and median(rates) <= training_thresholds.NO_RATE
    return without_rate or (bool(norms) and median(norms) <= training_thresholds.NO_GRADIENT)
