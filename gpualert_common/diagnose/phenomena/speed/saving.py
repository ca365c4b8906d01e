"""A save storm: the run saves checkpoints so often that training waits for them.

A checkpoint at every other step is a save storm in any training.  So is a run that saved several
times as often as earlier runs of the same command, and took far longer than those.  Checkpoints are
counted by the lines of the log and by the files that the run wrote; the larger number counts.  A
log whose end is not known is judged like one of a success.
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
from gpualert_common.quantities import is_number

FAMILY = "D2"


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield whether a successful run spent its time in saving."""
    progress = evidence.progress
    if progress is None or not evidence.may_be_completed:
        return
    steps = _count_steps(progress)
    saves, written = count_saves(progress), _count_files(evidence)
    if steps is None or max(saves, written) < thresholds.LEAST_SAVES:
        return
    if max(saves, written) >= thresholds.SAVES_PER_STEP * steps:
        by_files = written > saves
        text = f"it saved {max(saves, written)} checkpoints in {steps} steps"
        claim = Claim(text, "checkpoint_files") if by_files else _claim(progress, text)
        details: dict[str, Scalar] = {"saves": max(saves, written), "steps": steps}
        yield _storm(f"{text}, by {'files' if by_files else 'its log'}", (claim,), details)
        return
    yield from _compare(evidence, progress, saves, steps)


def _compare(evidence: Evidence, progress: Progress, saves: int, steps: int) -> Iterator[Finding]:
    """Yield whether it saved far more often than earlier runs, by the lines of the logs."""
    slow = Comparison(evidence).slowdown
    if slow is None or not slow.is_comparable or slow.usual.saves_per_step is None:
        return
    before = slow.usual.saves_per_step
    least = max(thresholds.SAVES_OF_BEFORE * before.median, before.high)
    if saves < thresholds.LEAST_SAVES or saves / steps < least:
        return
    details: dict[str, Scalar] = {"kind": "more_often", "saves": saves, "steps": steps}
    text = f"it saved {saves} checkpoints in {steps} steps"
    usually = f"earlier runs saved {before.median * steps:.3g} in as many steps"
    claims = (_claim(progress, text), Claim(usually, HISTORY), Claim(slow.text, HISTORY))
    yield _storm(f"{text}; {usually}, and {slow.text}", claims, details)


def _count_steps(progress: Progress) -> int | None:
    """Return the steps of all trainings in the log; None where it counts only epochs."""
    counts = progress.counts
    if counts.last_step is None:
        return None
    known = [
        one.last_step - one.first_step + 1
        for one in progress.segments
        if one.first_step is not None and one.last_step is not None
    ]
    return max(sum(known), counts.last_step - (counts.first_step or 0) + 1)


def _count_files(evidence: Evidence) -> int:
    """Return the number of checkpoints that the run wrote, at least, by their files."""
    events = evidence.events("checkpoints_written")
    counts = [event.fields.get("count") for event in events]
    return max((int(count) for count in counts if is_number(count)), default=0)


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
