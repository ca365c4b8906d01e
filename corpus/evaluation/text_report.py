"""The results of an evaluation as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from corpus.evaluation.first_contact import FirstContact
from corpus.evaluation.results import (
    Calibration,
    ConfidenceInterval,
    EvaluationResults,
    EvidenceScores,
    PaperScores,
    RobustnessRow,
    SplitScores,
)


def format_results(results: EvaluationResults) -> Iterator[str]:
    """Yield the lines of *results*."""
    corpus = results.corpus
    yield (
        f"{corpus.logs} logs of {corpus.origins} origins ({corpus.frozen_origins} frozen), "
        f"{corpus.causes} causes; without near-copies {corpus.groups}"
    )
    for name, scores in results.splits.items():
        yield f"\n== {name}: {scores.logs} logs"
        yield from _format_split(scores)
    yield from _format_causes(next(iter(results.splits.values())))
    if results.robustness:
        yield from _format_robustness(results.robustness)
    if results.wrong:
        yield "\nwrong causes, of origins that are not frozen and after their first contact:"
        for one in results.wrong:
            yield f"  {one.id:48} {one.label:18} named {one.named} ({one.confidence:.2f})"


def format_contact(contact: FirstContact) -> Iterator[str]:
    """Yield the lines of one first contact."""
    score = f"{contact.right} of {contact.logs} right, macro-F1 {contact.macro_f1:.3f}"
    yield f"{contact.origin:32} {contact.split.value:4} {score}"
    for name, (label, cause) in (contact.wrong or {}).items():
        yield f"    {name}: {label}, named {cause}"


def _format_split(scores: SplitScores) -> Iterator[str]:
    yield _format_interval("causes, macro-F1", scores.causes.macro_f1)
    yield _format_interval("causes, accuracy", scores.causes.accuracy)
    if scores.paper is not None:
        yield from _format_paper(scores.paper)
    for title, errors in (
        ("successful runs classified as failed", scores.false_alarms),
        ("failed runs classified as successful", scores.missed),
    ):
        yield f"{title:42} {errors.share:.1%}   {errors.named} of {errors.logs} logs"
    yield from _format_calibration(scores.calibration)
    yield from _format_evidence(scores.evidence)
    for title, subsets in (("provenance", scores.provenance), ("origins", scores.origins)):
        yield f"by {title}:"
        for name, one in subsets.items():
            yield (
                f"  {name:40} macro-F1 {one.macro_f1:.3f}  right {one.accuracy:.3f}"
                f"  {one.logs} logs"
            )


def _format_paper(paper: PaperScores) -> Iterator[str]:
    yield _format_interval(f"paper's classes, macro-F1 ({paper.logs} logs)", paper.macro_f1)
    yield _format_interval("paper's classes, accuracy", paper.accuracy)
    for name, baseline in paper.baselines.items():
        test = baseline.mcnemar
        note = f"McNemar {test.only_ours}:{test.only_theirs}, p = {test.p:.2g}"
        yield _format_interval(f"  {name}, macro-F1", baseline.macro_f1, note)


def _format_calibration(calibration: Calibration) -> Iterator[str]:
    yield f"{'expected calibration error':42} {calibration.error:.3f}"
    for one in calibration.bins:
        yield (
            f"  confidence {one.low:.2f}-{one.high:.2f}: mean {one.confidence:.3f}, "
            f"right {one.right:.3f}, weight {one.weight:.1f}"
        )


def _format_evidence(evidence: Mapping[str, EvidenceScores]) -> Iterator[str]:
    yield "confidence by kind of evidence:"
    for kind, one in evidence.items():
        yield (
            f"  {kind:40} mean {one.confidence:.3f}, right {one.right:.3f}, "
            f"calibration error {one.calibration_error:.3f}, {one.logs} logs"
        )


def _format_interval(title: str, figure: ConfidenceInterval, note: str = "") -> str:
    span = f"[{figure.low:.3f}, {figure.high:.3f}]"
    return f"{title:42} {figure.value:.3f} {span}  {note}".rstrip()


def _format_causes(scores: SplitScores) -> Iterator[str]:
    yield f"\n{'cause':20} {'precision':>9} {'recall':>7} {'F1':>6} {'logs':>5}"
    for name, one in scores.causes.per_cause.items():
        yield f"{name:20} {one.precision:9.3f} {one.recall:7.3f} {one.f1:6.3f} {one.logs:5}"


def _format_robustness(rows: Sequence[RobustnessRow]) -> Iterator[str]:
    yield f"\n{'all logs after':32} {'causes':>7} {'lost':>6} {'paper':>7} {'lost':>6}  newly wrong"
    for row in rows:
        keys = [
            next(key for key in row.macro_f1 if key.startswith(part))
            for part in ("causes", "paper")
        ]
        figures = [f"{row.macro_f1[key]:7.3f} {row.points_lost[key]:6.1f}" for key in keys]
        yield f"{row.change:32} {' '.join(figures)}  {row.newly_wrong}"
        for one in row.lost:
            yield f"    {one.id:46} {one.label:18} named {one.named}"
