"""G1, healthy on positive evidence only: steps were told, and the loss fell.

Nothing else makes a run healthy.  One that ended with 0 and told no losses that fell may have
trained or not: it is unverifiable, and the verdict says so, unless it was too short to ask and used
no GPU.  One whose loss fell and whose steps took far longer than in earlier runs of the same
command, on GPUs of the same number and model, is healthy but slow; what is known to be different is
told, and what made it slow is not decided.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.compared import HISTORY, Slower, different, slow_here, slower
from gpualert_common.diagnose.evidence import Evidence, seen
from gpualert_common.diagnose.families._losses import level, trainings_of
from gpualert_common.diagnose.families.divergence import claim_of
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.model import Claim
from gpualert_common.progress import Progress

FAMILY = "G1"


def judge(evidence: Evidence) -> Iterator[Finding]:
    """Whether the losses speak for a run that ended well, and the earlier runs for its speed."""
    if not evidence.completed:
        return
    slow = slower(evidence)
    if slow is not None:
        yield Finding(FAMILY, Weight.WARNS, slow.said, kind="slower")
    progress = evidence.progress
    losses, claims = _fell(progress)
    if progress is not None and losses is not None:
        yield _healthy(evidence, progress, losses, claims, slow)
    else:
        yield from _unverifiable(evidence)


def _fell(progress: Progress | None) -> tuple[tuple[float, float] | None, tuple[Claim, ...]]:
    """The loss of the first quarter and of the last where that is the lower one, and where that
    stands; of several trainings in one log those of the last."""
    if progress is None or progress.by_reward:
        return None, ()
    points = next(reversed(trainings_of(progress)), [])
    quarter = len(points) // 4
    if len(points) < thresholds.LEAST_POINTS or not quarter:
        return None, ()
    began, ended = level(points[:quarter]), level(points[-quarter:])
    if ended >= began:
        return None, ()
    return (began, ended), (claim_of(points[0]), claim_of(points[-1]))


def _healthy(
    evidence: Evidence,
    progress: Progress,
    losses: tuple[float, float],
    claims: tuple[Claim, ...],
    slow: Slower | None,
) -> Finding:
    details: dict[str, Scalar] = {
        "health": "healthy",
        "first_loss": float(f"{losses[0]:.4g}"),
        "last_loss": float(f"{losses[1]:.4g}"),
        "steps": progress.counts.last_step,
    }
    if slow is not None and slow.alike:
        details |= {
            "health": "healthy_slow",
            "slower": slow.said,
            "times_slower": round(slow.ratio, 1),
            "different": slow_here(evidence) or "; ".join(different(evidence)) or None,
        }
        claims = (*claims, seen(slow.said, HISTORY))
    return Finding(
        FAMILY,
        Weight.SUPPORTS,
        "the loss fell",
        cause="none",
        claims=claims,
        details={name: value for name, value in details.items() if value is not None},
    )


def _unverifiable(evidence: Evidence) -> Iterator[Finding]:
    if evidence.lasted_s < thresholds.UNVERIFIED_FROM_S and not evidence.gpus:
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
    """Why its losses do not speak for it."""
    if progress is None or not progress.counts.points:
        return "nothing in its log is a known training's progress"
    if all(point.loss is None for point in progress.points):
        return "its log tells of steps, and of no loss"
    if progress.by_reward:
        return "what it optimises is not its loss"
    if progress.counts.points < thresholds.LEAST_POINTS:
        return "its log tells too few losses"
    return "its losses did not fall"
