"""Undertrained: a run that succeeded after almost no steps.

The framework reports the planned number of steps, or that there was no batch at all.  Earlier runs
of the same command show the usual number: a hundredth of it is too few and, if the log has no
planned number, a tenth.  A run without any step is compared with them if it was also that much
shorter.  An early stop is intended; if a framework stops silently, directly after an evaluation,
the finding is a warning.  A run that saved a checkpoint at its last step is part of a chain, and a
resumed run had only the remaining steps to do.  Without earlier runs, fewer than ten steps are a
warning: users also supervise short tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpualert_common.classify.details import Scalar
from gpualert_common.command_options import is_evaluation
from gpualert_common.diagnose import training_thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.regression import HISTORY, Comparison, format_seconds
from gpualert_common.model import Claim, LogLocation
from gpualert_common.progress import (
    CheckpointAction,
    Progress,
    Start,
    TrainingEndKind,
    determine_start,
)

if TYPE_CHECKING:
    from gpualert_common.history import Baseline

_NONE = frozenset(("none",))


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the conclusions from the number of steps of a successful run."""
    progress = evidence.progress
    if progress is None or not evidence.is_completed or is_evaluation(evidence.command):
        return
    before = Comparison(evidence).usual
    if progress.framework is not None:
        yield from _too_few(progress, before)
    if before is not None and not progress.counts.points:
        yield from _none_at_all(evidence, progress, before)


def _too_few(progress: Progress, before: Baseline | None) -> Iterator[Finding]:
    counts = progress.counts
    empty = [one for one in progress.endings if one.kind is TrainingEndKind.NO_BATCHES]
    if empty:
        where = LogLocation(empty[0].file, empty[0].line, empty[0].offset)
        words = Claim(empty[0].text, "log", where)
        yield _make_finding(empty[0].text, 0.93, (words,), {"kind": "no_batches"})
        return
    steps, meant = counts.last_step, counts.total_steps
    if steps is None or any(one.kind is TrainingEndKind.EARLY_STOP for one in progress.endings):
        return
    last = progress.points[-1] if progress.points else None
    claims: tuple[Claim, ...] = ()
    if last is not None:
        where = LogLocation(last.file, last.line, last.offset)
        claims = (Claim(f"the last step was {steps}", "progress", where),)
    if _is_one_of_a_chain(progress, steps):
        return
    if meant and steps < training_thresholds.STEPS_OF_MEANT * meant:
        text = f"it ended after {steps} of {meant} steps"
        if _is_evaluated_at_end(progress):
            because = f"{text}, directly after an evaluation, like an early stop"
            yield Finding("E3", Weight.WARNS, because, kind="few_steps")
        elif not _is_saved_at_end(progress):
            yield _make_finding(text, 0.85, claims, {"steps": steps, "expected_steps": meant})
    elif (usually := _far_fewer(progress, before)) is not None:
        text = f"it ended after {steps} steps, and earlier runs after {usually}"
        known = (*claims, Claim(text, HISTORY))
        details: dict[str, Scalar] = {"kind": "before", "steps": steps, "expected_steps": usually}
        yield _make_finding(text, 0.85, known, details)
    elif steps < training_thresholds.LEAST_STEPS and _counts_from_one(progress):
        yield Finding("E3", Weight.WARNS, f"it ended after {steps} steps", kind="few_steps")


def _far_fewer(progress: Progress, before: Baseline | None) -> int | None:
    """Return the steps of earlier runs if this run made far fewer; else None.

    Both are counted from the first reported step.  A resumed run may have few steps left.
    """
    counts = progress.counts
    if before is None or before.steps is None or determine_start(progress).start is Start.RESUMED:
        return None
    if counts.first_step is None or counts.last_step is None:
        return None
    part = (
        training_thresholds.STEPS_OF_BEFORE
        if counts.total_steps
        else training_thresholds.FEWER_THAN_BEFORE
    )
    few = min(part * before.steps.median, before.steps.low)
    return round(before.steps.median) if counts.last_step - counts.first_step < few else None


def _none_at_all(evidence: Evidence, progress: Progress, before: Baseline) -> Iterator[Finding]:
    steps, usual_s = before.steps, before.duration_s
    if steps is None or usual_s is None or progress.endings:
        return
    if any(marker.says is Start.RESUMED for marker in progress.markers):
        return
    if evidence.duration_s >= min(
        training_thresholds.FEWER_THAN_BEFORE * usual_s.median, usual_s.low
    ):
        return
    usual_steps = round(steps.median)
    text = f"it ended after {format_seconds(evidence.duration_s)} without a step"
    claim = f"{text}; earlier runs did {usual_steps} steps in {format_seconds(usual_s.median)}"
    details: dict[str, Scalar] = {"kind": "before", "steps": 0, "expected_steps": usual_steps}
    yield _make_finding(text, 0.8, (Claim(claim, HISTORY),), details)


def _is_one_of_a_chain(progress: Progress, last_step: int) -> bool:
    """Return whether the run saved a checkpoint at its last step."""
    saved = [one.step for one in progress.checkpoints if one.action is CheckpointAction.SAVED]
    return last_step in saved


def _is_saved_at_end(progress: Progress) -> bool:
    """Return whether it announced a checkpoint after the last reported step."""
    saved = [one for one in progress.checkpoints if one.action is CheckpointAction.SAVED]
    if not saved or not progress.points:
        return False
    last = progress.points[-1]
    return saved[-1].file == last.file and saved[-1].offset > last.offset


def _is_evaluated_at_end(progress: Progress) -> bool:
    """Return whether it was evaluated more than once, and made no step after the last time."""
    if (
        progress.counts.evals < training_thresholds.LEAST_EVALUATIONS
        or not progress.evals
        or not progress.points
    ):
        return False
    evaluated, last = progress.evals[-1], progress.points[-1]
    return evaluated.file == last.file and evaluated.offset >= last.offset


def _counts_from_one(progress: Progress) -> bool:
    """Return whether steps are counted over the whole training, not within an epoch."""
    return progress.unit == "step" and progress.framework != "generic"


def _make_finding(
    text: str, confidence: float, claims: tuple[Claim, ...], details: dict[str, Scalar]
) -> Finding:
    return Finding(
        "E3",
        Weight.DECIDES,
        text,
        cause="undertrained",
        confidence=confidence,
        over=_NONE,
        claims=claims,
        details=details,
    )
