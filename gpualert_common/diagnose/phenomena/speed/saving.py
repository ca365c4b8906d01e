"""A save storm: the run saves checkpoints so often that training waits for them.

A checkpoint at every other step is a save storm in any training.  So is a run that saved several
times as often as earlier runs of the same command, and took far longer than those.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.regression import HISTORY, Comparison
from gpualert_common.diagnose.run_metrics import count_saves
from gpualert_common.model import Claim, LogLocation
from gpualert_common.progress import CheckpointAction, Progress

FAMILY = "D2"


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield whether a successful run spent its time in saving."""
    progress = evidence.progress
    if progress is None or not evidence.is_completed or progress.counts.last_step is None:
        return
    saves = count_saves(progress)
    steps = progress.counts.last_step - (progress.counts.first_step or 0) + 1
    if saves < thresholds.LEAST_SAVES:
        return
    text = f"it saved {saves} checkpoints in {steps} steps"
    claim = _claim(progress, text)
    if saves >= thresholds.SAVES_PER_STEP * steps:
        yield _storm(text, (claim,), {"saves": saves, "steps": steps})
        return
    slow = Comparison(evidence).slowdown
    if slow is None or not slow.is_comparable or slow.usual.saves_per_step is None:
        return
    before = slow.usual.saves_per_step
    if saves / steps < max(thresholds.SAVES_OF_BEFORE * before.median, before.high):
        return
    details: dict[str, Scalar] = {"kind": "more_often", "saves": saves, "steps": steps}
    usually = f"earlier runs saved {before.median * steps:.3g} in as many steps"
    claims = (claim, Claim(usually, HISTORY), Claim(slow.text, HISTORY))
    yield _storm(f"{text}; {usually}, and {slow.text}", claims, details)


def _storm(text: str, claims: tuple[Claim, ...], details: dict[str, Scalar]) -> Finding:
    return Finding(
        FAMILY,
        Weight.DECIDES,
        text,
        cause="save_storm",
        confidence=0.85,
        over=frozenset(("none",)),
        claims=claims,
        details=details,
    )


def _claim(progress: Progress, text: str) -> Claim:
    first = next(one for one in progress.checkpoints if one.action is CheckpointAction.SAVED)
    return Claim(text, "progress", LogLocation(first.file, first.line, first.offset))
