"""Robustness: the scores of all logs after each change that keeps the cause of a failure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from corpus.entries import Split
from corpus.evaluation.classification import ClassifiedLog, classify_logs
from corpus.evaluation.evaluation import (
    may_be_listed,
    predict_causes,
    predict_paper_classes,
    with_paper_class,
)
from corpus.evaluation.labelled_logs import LabelledLog
from corpus.evaluation.perturbations import CHANGES, change_log
from corpus.evaluation.results import LostCause, RobustnessRow, rounded


def measure_robustness(
    logs: Sequence[LabelledLog],
    contacted: Collection[str],
    split: Split = Split.ALL,
    report: Callable[[str], None] = lambda _: None,
) -> tuple[RobustnessRow, ...]:
    """Return a row for each change.

    ``lost`` lists only logs that may be listed (see :func:`corpus.evaluation.evaluation.evaluate`).
    *report* gets the name of each change before the logs are classified.
    """
    chosen = [log for log in logs if split.contains(log.entry)]
    before = classify_logs(chosen)
    figures = _macro_f1s(before)
    rows = []
    for name in CHANGES:
        report(name)
        after = classify_logs(chosen, partial(_change, name))
        rows.append(_compare(name, figures, list(zip(before, after, strict=True)), contacted))
    return rounded(tuple(rows))


def _compare(
    change: str,
    figures: dict[str, float],
    pairs: Sequence[tuple[ClassifiedLog, ClassifiedLog]],
    contacted: Collection[str],
) -> RobustnessRow:
    now = _macro_f1s([after for _, after in pairs])
    lost = [after for before, after in pairs if before.is_correct and not after.is_correct]
    return RobustnessRow(
        change=change,
        macro_f1=now,
        points_lost={key: 100 * (figures[key] - now[key]) for key in now},
        newly_wrong=len(lost),
        lost=tuple(
            LostCause(one.entry.id, one.entry.cause, one.classification.cause)
            for one in lost
            if may_be_listed(one.entry, contacted)
        ),
    )


def _change(name: str, log: LabelledLog) -> bytes:
    return change_log(name, log.content, log.entry)


def _macro_f1s(logs: Sequence[ClassifiedLog]) -> dict[str, float]:
    """Return the macro-F1 over causes and the paper's classes, of each split that has logs."""
    found = {}
    for split in Split:
        part = [one for one in logs if split.contains(one.entry)]
        if not part:
            continue
        found[f"causes_{split.value}"] = predict_causes(part).macro_f1()
        if classed := with_paper_class(part):
            found[f"paper_{split.value}"] = predict_paper_classes(classed).macro_f1()
    return found
