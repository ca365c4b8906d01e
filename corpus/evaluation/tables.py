"""The tables of an evaluation as Markdown, for the documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from corpus.entries import Split
from corpus.evaluation.baselines import BASELINES
from corpus.evaluation.first_contact import ContactBatch, group_batches, read_contacts
from corpus.evaluation.results import (
    ConfidenceInterval,
    CorpusSummary,
    ErrorShare,
    EvaluationResults,
    EvidenceScores,
    PaperScores,
    RobustnessRow,
    SplitScores,
    read_results,
)
from gpualert_common.model import EvidenceKind

_SPLITS = {Split.ALL: "all origins", Split.DEV: "open origins", Split.TEST: "frozen origins"}
_SMALLEST_P = 0.001


def format_kept_tables(corpus: Path) -> str:
    """Return the tables of the results and first contacts that are kept in *corpus*."""
    return format_tables(read_results(corpus), group_batches(read_contacts(corpus)))


def format_kept_summary(corpus: Path) -> str:
    """Return the main figures of the results that are kept in *corpus*, in one sentence."""
    results = read_results(corpus)
    everything, frozen = results.splits[Split.ALL].causes, results.splits[Split.TEST].causes
    return (
        f"On {results.corpus.logs} labelled logs of {results.corpus.origins} origins the accuracy "
        f"is {everything.accuracy.value:.3f} and the macro-F1\n"
        f"over {results.corpus.causes} causes {everything.macro_f1.value:.3f}; on the third of the "
        "origins that no rule is tuned to, they are "
        f"{frozen.accuracy.value:.3f}\nand {frozen.macro_f1.value:.3f}."
    )


def format_tables(results: EvaluationResults, curve: Sequence[ContactBatch]) -> str:
    """Return the tables: corpus, scores, confidence, first contact, robustness.

    *curve* is that of first contacts.
    """
    parts = [_format_corpus(results.corpus), "## Scores\n", _format_scores(results)]
    parts += ["## Confidence by kind of evidence\n", _format_evidence(results.splits)]
    if curve:
        parts += ["## First contact\n", _format_curve(curve)]
    if results.robustness:
        parts += ["## Robustness\n", _format_robustness(results.robustness)]
    return "\n".join(parts)


def _format_corpus(corpus: CorpusSummary) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in corpus.provenance.items() if count)
    return (
        f"{corpus.logs} logs over {corpus.causes} causes ({kinds}) from {corpus.origins} "
        f"origins, {corpus.frozen_origins} of them frozen. Near-copies together count as one "
        f"log, which leaves {corpus.groups}.\n"
    )


def _format_scores(results: EvaluationResults) -> str:
    shown = {split: results.splits[split] for split in _SPLITS if split in results.splits}

    def row(title: str, cell: Callable[[SplitScores], str]) -> list[str]:
        return [title, *map(cell, shown.values())]

    def paper_row(title: str, cell: Callable[[PaperScores], str]) -> list[str]:
        return row(title, lambda one: cell(one.paper) if one.paper else "-")

    def baseline_row(name: str) -> list[str]:
        return paper_row(f"- {name}", lambda paper: _format_baseline(paper, name))

    rows = [
        row("logs", lambda one: str(one.logs)),
        row("**macro-F1 over causes**", lambda one: _format_interval(one.causes.macro_f1)),
        row("right cause", lambda one: _format_interval(one.causes.accuracy)),
        paper_row(
            "**macro-F1 over the paper's 15 classes**", lambda one: _format_interval(one.macro_f1)
        ),
        *map(baseline_row, BASELINES),
        row("successful runs classified as failed", lambda one: _format_errors(one.false_alarms)),
        row("failed runs classified as successful", lambda one: _format_errors(one.missed)),
        row("expected calibration error", lambda one: f"{one.calibration.error:.3f}"),
    ]
    return _format_table(["", *(_SPLITS[name] for name in shown)], rows)


def _format_baseline(paper: PaperScores, name: str) -> str:
    found = paper.baselines[name]
    p = found.mcnemar.p
    text = f"p < {_SMALLEST_P}" if p < _SMALLEST_P else f"p = {p:.2g}"
    return f"{found.macro_f1.value:.3f} ({text})"


def _format_evidence(splits: Mapping[Split, SplitScores]) -> str:
    shown = {split: splits[split].evidence for split in _SPLITS if split in splits}
    kinds = [
        kind.value for kind in EvidenceKind if any(kind.value in one for one in shown.values())
    ]

    def cell(one: EvidenceScores | None) -> str:
        if one is None:
            return "-"
        return f"{one.confidence:.2f}, right {one.right:.2f} of {one.logs}"

    rows = [[kind, *(cell(one.get(kind)) for one in shown.values())] for kind in kinds]
    return _format_table(["evidence", *(_SPLITS[name] for name in shown)], rows)


def _format_curve(curve: Sequence[ContactBatch]) -> str:
    rows = [
        [
            *(str(one.batch), one.date, str(one.origins), str(one.logs)),
            *(_percent(one.share), f"{one.macro_f1:.3f}", _percent(one.share_so_far)),
        ]
        for one in curve
    ]
    heads = ["batch", "date", "origins", "logs", "right at first contact", "macro-F1", "so far"]
    return _format_table(heads, rows)


def _format_robustness(rows: Sequence[RobustnessRow]) -> str:
    titles = {
        "causes_all": "macro-F1 over causes",
        "paper_all": "over the paper's classes",
        "causes_test": "over causes, frozen origins",
    }
    keys = [key for key in titles if key in rows[0].macro_f1]
    cells = [
        [
            row.change,
            *(f"{row.macro_f1[key]:.3f} ({_format_loss(row.points_lost[key])})" for key in keys),
        ]
        for row in rows
    ]
    return _format_table(["all logs after", *(titles[key] for key in keys)], cells)


def _format_interval(figure: ConfidenceInterval) -> str:
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"


def _format_errors(errors: ErrorShare) -> str:
    return f"{_percent(errors.share)} of {errors.logs}"


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def _format_loss(points: float) -> str:
    return "±0.0" if abs(points) < 0.05 else f"{-points:+.1f}"


def _format_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    ruler = ["---", *("---:" for _ in heads[1:])]
    lines = [heads, ruler, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
