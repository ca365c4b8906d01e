"""The evaluation: classify every log and score the causes against the labels.

Near-copies share the weight of one log in every figure.  The results list wrong causes only of logs
that rules may be tuned to: those of an origin that is not frozen, after their first contact.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from corpus.entries import CorpusEntry, Provenance, Split
from corpus.errors import CorpusError
from corpus.evaluation.baselines import BASELINES
from corpus.evaluation.classification import ClassifiedLog, classify_logs
from corpus.evaluation.labelled_logs import LabelledLog
from corpus.evaluation.metrics import Predictions
from corpus.evaluation.results import (
    SCHEMA,
    BaselineScores,
    CauseScores,
    CorpusSummary,
    ErrorShare,
    EvaluationResults,
    EvidenceScores,
    PaperScores,
    SplitScores,
    SubsetScores,
    WrongCause,
    rounded,
)
from gpualert_common.model import EvidenceKind


def evaluate(
    logs: Sequence[LabelledLog], contacted: Collection[str], split: Split = Split.ALL
) -> EvaluationResults:
    """Return the results of *split*; for all origins also those of each split by itself.

    *contacted* has the ids of logs after their first contact: only of those the wrong ones are
    listed.  Raises :class:`CorpusError` for a split without logs.
    """
    classified = classify_logs([log for log in logs if split.contains(log.entry)])
    if not classified:
        raise CorpusError(f"no log belongs to the split {split.value!r}")
    splits = tuple(Split) if split is Split.ALL else (split,)
    parts = {one: [log for log in classified if one.contains(log.entry)] for one in splits}
    results = EvaluationResults(
        schema=SCHEMA,
        corpus=_summarize(logs),
        splits={name: _score_split(part) for name, part in parts.items() if part},
        confusion=predict_causes(classified).confusion(),
        wrong=tuple(
            _wrong_cause(one)
            for one in classified
            if not one.is_correct and may_be_listed(one.entry, contacted)
        ),
    )
    return rounded(results)


def may_be_listed(entry: CorpusEntry, contacted: Collection[str]) -> bool:
    """Return whether the errors of a log may be listed, so that rules can be tuned to it."""
    return not entry.is_frozen and entry.id in contacted


def predict_causes(logs: Sequence[ClassifiedLog]) -> Predictions:
    """Return the causes and the labels of *logs*."""
    return Predictions(
        [one.entry.cause for one in logs],
        [one.classification.cause for one in logs],
        [one.log.group for one in logs],
    )


def predict_paper_classes(logs: Sequence[ClassifiedLog]) -> Predictions:
    """Return the paper's classes and labels of *logs*, which must all have such a label."""
    return _paper_predictions(logs, [one.classification.paper_class for one in logs])


def with_paper_class(logs: Sequence[ClassifiedLog]) -> list[ClassifiedLog]:
    """Return those of *logs* whose label has a class of the paper."""
    return [one for one in logs if one.entry.paper_class is not None]


def _paper_predictions(
    logs: Sequence[ClassifiedLog], predicted: Sequence[str | None]
) -> Predictions:
    labels = [str(one.entry.paper_class) for one in logs]
    return Predictions(labels, predicted, [one.log.group for one in logs])


def _summarize(logs: Sequence[LabelledLog]) -> CorpusSummary:
    entries = [one.entry for one in logs]
    groups = len({one.group for one in logs})
    return CorpusSummary(
        logs=len(logs),
        groups=groups,
        near_copies=1 - groups / len(logs),
        causes=len({one.cause for one in entries}),
        origins=len({one.origin for one in entries}),
        frozen_origins=len({one.origin for one in entries if one.is_frozen}),
        provenance={
            kind.value: sum(one.provenance is kind for one in entries) for kind in Provenance
        },
    )


def _score_split(logs: Sequence[ClassifiedLog]) -> SplitScores:
    causes = predict_causes(logs)
    return SplitScores(
        logs=len(logs),
        groups=causes.group_count,
        causes=CauseScores(
            causes.macro_f1_interval(), causes.accuracy_interval(), causes.per_label()
        ),
        paper=_score_paper_classes(with_paper_class(logs)),
        provenance=_score_subsets(logs, lambda entry: entry.provenance.value),
        origins=_score_subsets(logs, lambda entry: entry.origin),
        calibration=causes.calibration([one.classification.confidence for one in logs]),
        evidence=_score_evidence(logs),
        false_alarms=_false_alarms(logs),
        missed=_missed_failures(logs),
    )


def _score_paper_classes(logs: Sequence[ClassifiedLog]) -> PaperScores | None:
    if not logs:
        return None
    ours = predict_paper_classes(logs)
    baselines = {}
    for name, classify in BASELINES.items():
        predicted = [classify(one.log.content, one.entry.exit_code) for one in logs]
        theirs = _paper_predictions(logs, predicted)
        baselines[name] = BaselineScores(
            theirs.macro_f1_interval(), theirs.accuracy_interval(), ours.mcnemar(theirs)
        )
    return PaperScores(
        logs=len(logs),
        groups=ours.group_count,
        macro_f1=ours.macro_f1_interval(),
        accuracy=ours.accuracy_interval(),
        per_class=ours.per_label(),
        baselines=baselines,
    )


def _score_subsets(
    logs: Sequence[ClassifiedLog], key: Callable[[CorpusEntry], str]
) -> dict[str, SubsetScores]:
    subsets: dict[str, list[ClassifiedLog]] = {}
    for one in logs:
        subsets.setdefault(key(one.entry), []).append(one)
    return {name: _score_subset(subsets[name]) for name in sorted(subsets)}


def _score_subset(logs: Sequence[ClassifiedLog]) -> SubsetScores:
    causes = predict_causes(logs)
    return SubsetScores(
        logs=len(logs),
        groups=causes.group_count,
        is_frozen=all(one.entry.is_frozen for one in logs),
        macro_f1=causes.macro_f1(),
        accuracy=causes.accuracy(),
    )


def _score_evidence(logs: Sequence[ClassifiedLog]) -> dict[str, EvidenceScores]:
    """Return the calibration for each kind of evidence that occurs."""
    kinds = {
        kind: [one for one in logs if one.classification.evidence is kind] for kind in EvidenceKind
    }
    return {kind.value: _score_kind(part) for kind, part in kinds.items() if part}


def _score_kind(logs: Sequence[ClassifiedLog]) -> EvidenceScores:
    causes = predict_causes(logs)
    confidence = [one.classification.confidence for one in logs]
    return EvidenceScores(
        logs=len(logs),
        confidence=float(causes.weights @ confidence / causes.weights.sum()),
        right=causes.accuracy(),
        calibration_error=causes.calibration(confidence).error,
    )


def _false_alarms(logs: Sequence[ClassifiedLog]) -> ErrorShare:
    """Return the share of successful runs that were classified as failures."""
    succeeded = [one for one in logs if one.entry.cause == "none"]
    return _error_share(succeeded, lambda one: one.classification.cause != "none")


def _missed_failures(logs: Sequence[ClassifiedLog]) -> ErrorShare:
    """Return the share of failed runs that were classified as successful."""
    failed = [one for one in logs if one.entry.cause != "none"]
    return _error_share(failed, lambda one: one.classification.cause == "none")


def _error_share(
    logs: Sequence[ClassifiedLog], is_error: Callable[[ClassifiedLog], bool]
) -> ErrorShare:
    if not logs:
        return ErrorShare(0, 0, 0.0)
    errors = [is_error(one) for one in logs]
    weights = predict_causes(logs).weights
    return ErrorShare(len(logs), sum(errors), float(weights[errors].sum() / weights.sum()))


def _wrong_cause(one: ClassifiedLog) -> WrongCause:
    found = one.classification
    return WrongCause(one.entry.id, one.entry.cause, found.cause, found.confidence)
