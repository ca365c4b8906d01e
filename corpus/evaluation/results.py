"""The results of an evaluation, and their form on the disk: JSON with the names of the fields."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from corpus.entries import Split
from corpus.errors import CorpusError

SCHEMA: Final = 3
RESULTS: Final = "results.json"
_DECIMALS = 4
_TINY = 1e-3

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """A figure and its bootstrap interval of 95 %."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LabelScore:
    """The scores of one label and the weight of its logs.  Precision is 0 if never predicted."""

    logs: int
    precision: float
    recall: float
    f1: float
    weight: float


@dataclass(frozen=True, slots=True)
class McNemarTest:
    """Numbers of logs that only one of two classifiers gets right, and the p-value."""

    only_ours: int
    only_theirs: int
    p: float


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Verdicts with a confidence in (low, high]: weight, mean confidence, share that is right."""

    low: float
    high: float
    weight: float
    confidence: float
    right: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibration curve and the expected calibration error."""

    bins: tuple[CalibrationBin, ...]
    error: float


@dataclass(frozen=True, slots=True)
class EvidenceScores:
    """The verdicts on one kind of evidence: mean confidence, share that is right, calibration."""

    logs: int
    confidence: float
    right: float
    calibration_error: float


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """The weight of logs of each label (rows) that got each cause (columns)."""

    labels: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """The size of the corpus.  ``near_copies`` is the share of logs that copy another one."""

    logs: int
    groups: int
    near_copies: float
    causes: int
    origins: int
    frozen_origins: int
    provenance: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CauseScores:
    """Causes against their labels."""

    macro_f1: ConfidenceInterval
    accuracy: ConfidenceInterval
    per_cause: Mapping[str, LabelScore]


@dataclass(frozen=True, slots=True)
class BaselineScores:
    """One of the paper's baselines on the logs that have a class of the paper."""

    macro_f1: ConfidenceInterval
    accuracy: ConfidenceInterval
    mcnemar: McNemarTest


@dataclass(frozen=True, slots=True)
class PaperScores:
    """The paper's classes against their labels, and its baselines."""

    logs: int
    groups: int
    macro_f1: ConfidenceInterval
    accuracy: ConfidenceInterval
    per_class: Mapping[str, LabelScore]
    baselines: Mapping[str, BaselineScores]


@dataclass(frozen=True, slots=True)
class SubsetScores:
    """The logs of one provenance or origin."""

    logs: int
    groups: int
    is_frozen: bool
    macro_f1: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class ErrorShare:
    """Errors of one kind: ``named`` of ``logs``, and their share of the weight."""

    logs: int
    named: int
    share: float


@dataclass(frozen=True, slots=True)
class SplitScores:
    """All scores of one split.  ``paper`` is None if no log has a class of the paper."""

    logs: int
    groups: int
    causes: CauseScores
    paper: PaperScores | None
    provenance: Mapping[str, SubsetScores]
    origins: Mapping[str, SubsetScores]
    calibration: Calibration
    evidence: Mapping[str, EvidenceScores]
    false_alarms: ErrorShare
    missed: ErrorShare


@dataclass(frozen=True, slots=True)
class WrongCause:
    """A log whose cause is not its label."""

    id: str
    label: str
    named: str
    confidence: float


@dataclass(frozen=True, slots=True)
class LostCause:
    """A log whose cause is right as the log is, and wrong after a change."""

    id: str
    label: str
    named: str


@dataclass(frozen=True, slots=True)
class RobustnessRow:
    """The effect of one change of all logs.

    ``macro_f1`` and ``points_lost`` have the keys ``causes_SPLIT`` and ``paper_SPLIT``.
    """

    change: str
    macro_f1: Mapping[str, float]
    points_lost: Mapping[str, float]
    newly_wrong: int
    lost: tuple[LostCause, ...]


@dataclass(frozen=True, slots=True)
class EvaluationResults:
    """An evaluation.  ``robustness`` is None if the logs were classified only as they are."""

    schema: int
    corpus: CorpusSummary
    splits: Mapping[Split, SplitScores]
    confusion: ConfusionMatrix
    wrong: tuple[WrongCause, ...]
    robustness: tuple[RobustnessRow, ...] | None = None


def results_to_json(results: EvaluationResults, *, indent: int | None = None) -> str:
    """Return *results* as JSON text."""
    return json.dumps(asdict(results), indent=indent, ensure_ascii=False)


def read_results(corpus: Path) -> EvaluationResults:
    """Return the results that are kept in *corpus*.  Raises OSError, :class:`CorpusError`."""
    file = corpus / RESULTS
    try:
        return msgspec.json.decode(file.read_bytes(), type=EvaluationResults)
    except msgspec.MsgspecError as error:
        raise CorpusError(
            f"{file}: {error}; run: python -m corpus evaluate --out corpus"
        ) from error


def rounded(value: T) -> T:
    """Return *value* with its numbers rounded to the precision that a corpus of this size has."""
    result: T = _round(value)
    return result


def _round(value: Any) -> Any:
    match value:
        case float():
            return round(value, _DECIMALS) if abs(value) > _TINY else float(f"{value:.1e}")
        case Mapping():
            return {key: _round(one) for key, one in value.items()}
        case tuple():
            return tuple(_round(one) for one in value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            names = (field.name for field in dataclasses.fields(value))
            return dataclasses.replace(value, **{n: _round(getattr(value, n)) for n in names})
        case _:
            return value
