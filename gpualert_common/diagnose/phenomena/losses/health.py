"""Healthy on positive evidence only: the log reports steps, and the loss fell beyond its noise.

The test for a fall allows for noise that depends on its neighbours; the verdict has its result, and
the first, the last and the lowest loss of the log.  A loss that ended at the chance level of a
usual number of classes does not count.  For 5 to 19 losses another test asks for a larger fall, and
the confidence is lower.  A run that exited with 0 and reports no falling losses is
unverifiable: it may have trained or not.  The verdict states that, with less confidence, unless a
run without losses was short and used no GPU.  A run whose loss fell and whose
steps took far longer than in earlier runs of the same command, on GPUs of the same number and
model, is healthy but slow.  The verdict lists the known differences, and does not decide which of
them made it slow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpualert_common.diagnose import thresholds, training_thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.phenomena.losses._chance import find_chance_level
from gpualert_common.diagnose.phenomena.losses._trainings import split_trainings
from gpualert_common.diagnose.phenomena.losses._trend import describe_fall
from gpualert_common.diagnose.phenomena.losses.divergence import (
    claim_of_point,
    describe_losses,
    select_extremes,
)
from gpualert_common.diagnose.regression import HISTORY, Comparison
from gpualert_common.model import Claim
from gpualert_common.progress import Point, Progress

FAMILY = "G1"


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield whether a successful run is healthy by its losses, and slow by earlier runs."""
    if not evidence.is_completed:
        return
    comparison = Comparison(evidence)
    slow = comparison.slowdown
    if slow is not None:
        yield Finding(FAMILY, Weight.WARNS, slow.text, kind="slower")
    progress = evidence.progress
    points = [] if progress is None else next(reversed(split_trainings(progress)), [])
    reason = _why_not(progress, points)
    if progress is None or reason:
        yield from _unverifiable(evidence, reason)
    else:
        yield _healthy(progress, points, comparison)


def _healthy(progress: Progress, points: Sequence[Point], comparison: Comparison) -> Finding:
    """Return the finding for the loss of a training that fell."""
    test = describe_fall(_losses_of(points))
    text = f"the loss fell beyond its noise ({test})"
    claims = (*map(claim_of_point, select_extremes(points)), Claim(text, "progress"))
    details = describe_losses(points) | {"health": "healthy", "steps": progress.counts.last_step}
    slow = comparison.slowdown
    if slow is not None and slow.is_comparable:
        details |= {
            "health": "healthy_slow",
            "slower": slow.text,
            "times_slower": round(slow.ratio, 1),
            "different": comparison.slow_host or "; ".join(comparison.differences) or None,
        }
        claims = (*claims, Claim(slow.text, HISTORY))
    is_short = len(points) < training_thresholds.LEAST_POINTS
    return Finding(
        FAMILY,
        Weight.SUPPORTS,
        text,
        cause="none",
        claims=claims,
        most_confidence=float(thresholds.SHORT_SERIES_CONFIDENCE) if is_short else 1.0,
        details={name: value for name, value in details.items() if value is not None},
    )


def _unverifiable(evidence: Evidence, because: str) -> Iterator[Finding]:
    progress = evidence.progress
    has_losses = progress is not None and any(one.loss is not None for one in progress.points)
    is_long = evidence.duration_s >= thresholds.UNVERIFIED_FROM_S
    if not is_long and not evidence.gpus and not has_losses:
        return
    yield Finding(
        FAMILY,
        Weight.SUPPORTS,
        f"unverifiable: {because}",
        cause="none",
        kind="unverifiable",
        details={"health": "unverifiable"},
        cannot_decide=(f"whether it trained: {because}",),
        most_confidence=float(thresholds.UNVERIFIED_CONFIDENCE),
    )


def _losses_of(points: Sequence[Point]) -> list[float]:
    return [point.loss for point in points if point.loss is not None]


def _why_not(progress: Progress | None, points: Sequence[Point]) -> str:
    """Return why the losses of the last training do not show that it is healthy; "" if they do."""
    if progress is None or not progress.counts.points:
        return "its log has no known form of training progress"
    if all(point.loss is None for point in progress.points):
        return "its log reports steps, but no loss"
    if progress.by_reward:
        return "it does not optimise its loss"
    if len(points) < training_thresholds.FEWEST_POINTS:
        return f"its log reports too few losses for a test: {len(points)}"
    if describe_fall(_losses_of(points)) is None:
        return "its losses did not fall beyond their noise"
    chance = find_chance_level(points, progress)
    return "" if chance is None else f"its losses end near {chance} among {chance.count} classes"
