"""What is lost when each log comes in another dress: every change, every log, scored again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from gpualert_common.corpus.evaluate import (
    Answer,
    Sample,
    Split,
    answer,
    answers_of,
    paper_answers,
    rounded,
    with_paper_class,
)
from gpualert_common.corpus.perturb import CHANGES, changed


def robustness_of(
    samples: Sequence[Sample],
    contacted: Collection[str],
    split: Split = Split.ALL,
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """A row for each change: macro-F1 over causes and the paper's classes, points lost by it.

    ``lost`` names the logs that were right before, among those that may be told apart (see
    :func:`gpualert_common.corpus.evaluate.results_of`).  *say* is told each change's name.
    """
    chosen = [one for one in samples if split.holds(one.entry)]
    clean = answer(chosen)
    before = _figures(clean)
    rows = []
    for name in CHANGES:
        say(name)
        after = answer(chosen, partial(_again, name))
        figures = _figures(after)
        rows.append(
            {
                "change": name,
                **figures,
                "points_lost": {key: 100 * (before[key] - figures[key]) for key in figures},
                "newly_wrong": sum(_fell(*pair) for pair in zip(clean, after, strict=True)),
                "lost": [
                    {"id": now.entry.id, "label": now.entry.cause, "named": now.judged.cause}
                    for then, now in zip(clean, after, strict=True)
                    if _fell(then, now) and not now.entry.frozen and now.entry.id in contacted
                ],
            }
        )
    result: list[dict[str, Any]] = rounded(rows)
    return result


def _again(change: str, sample: Sample) -> bytes:
    return changed(change, sample.log, sample.entry)


def _fell(before: Answer, after: Answer) -> bool:
    return before.judged.right and not after.judged.right


def _figures(answers: Sequence[Answer]) -> dict[str, float]:
    """Macro-F1 over causes and paper's classes, of all logs and of each split that there is."""
    found = {}
    for split in Split:
        part = [one for one in answers if split.holds(one.entry)]
        if not part:
            continue
        found[f"causes_{split.value}"] = answers_of(part).macro_f1()
        if classed := with_paper_class(part):
            named = [one.judged.paper_class for one in classed]
            found[f"paper_{split.value}"] = paper_answers(classed, named).macro_f1()
    return found
