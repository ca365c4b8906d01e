"""Healthy on positive evidence only: the log reports steps, and the loss fell.

A run that exited with 0 and reports no falling losses is unverifiable: it may have trained or not.
The verdict states that, unless the run was short and used no GPU.  A run whose loss fell and whose
steps took far longer than in earlier runs of the same command, on GPUs of the same number and
model, is healthy but slow.  The verdict lists the known differences, and does not decide which of
them made it slow.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.phenomena.losses._trainings import level, split_trainings
from gpualert_common.diagnose.phenomena.losses.divergence import claim_of_point
from gpualert_common.diagnose.regression import HISTORY, Comparison
from gpualert_common.model import Claim
from gpualert_common.progress import Progress

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
    losses, claims = _fell(progress)
    if progress is not None and losses is not None:
        yield _healthy(progress, losses, claims, comparison)
    else:
        yield from _unverifiable(evidence)


def _fell(progress: Progress | None) -> tuple[tuple[float, float] | None, tuple[Claim, ...]]:
    """Return the loss of the first quarter and of the last, if that is lower, with its claims.

    If one log holds several trainings, the last one counts.
    """
    if progress is None or progress.by_reward:
        return None, ()
    points = next(reversed(split_trainings(progress)), [])
    quarter = len(points) // 4
    if len(points) < thresholds.LEAST_POINTS or not quarter:
        return None, ()
    began, ended = level(points[:quarter]), level(points[-quarter:])
    if ended >= began:
        return None, ()
    return (began, ended), (claim_of_point(points[0]), claim_of_point(points[-1]))


def _healthy(
    progress: Progress,
    losses: tuple[float, float],
    claims: tuple[Claim, ...],
    comparison: Comparison,
) -> Finding:
    details: dict[str, Scalar] = {
        "health": "healthy",
        "first_loss": float(f"{losses[0]:.4g}"),
        "last_loss": float(f"{losses[1]:.4g}"),
        "steps": progress.counts.last_step,
    }
    slow = comparison.slowdown
    if slow is not None and slow.is_comparable:
        details |= {
            "health": "healthy_slow",
            "slower": slow.text,
            "times_slower": round(slow.ratio, 1),
            "different": comparison.slow_host or "; ".join(comparison.differences) or None,
        }
        claims = (*claims, Claim(slow.text, HISTORY))
    return Finding(
        FAMILY,
        Weight.SUPPORTS,
        "the loss fell",
        cause="none",
        claims=claims,
        details={name: value for name, value in details.items() if value is not None},
    )


def _unverifiable(evidence: Evidence) -> Iterator[Finding]:
    if evidence.duration_s < thresholds.UNVERIFIED_FROM_S and not evidence.gpus:
        return
    because = _why(evidence.progress)
    yield Finding(
        FAMILY,
        Weight.SUPPORTS,
        f"unverifiable: {because}",
        cause="none",
        kind="unverifiable",
        details={"health": "unverifiable"},
        cannot_decide=(f"whether it trained: {because}",),
    )


def _why(progress: Progress | None) -> str:
    """Return why its losses do not show that it is healthy."""
    if progress is None or not progress.counts.points:
        return "its log has no known form of training progress"
    if all(point.loss is None for point in progress.points):
        return "its log reports steps, but no loss"
    if progress.by_reward:
        return "it does not optimise its loss"
    if progress.counts.points < thresholds.LEAST_POINTS:
        return "its log reports too few losses"
    return "its losses did not fall"
