"""Scores of predictions against labels, by scikit-learn.

Logs have weights: near-copies share the weight of one log.  A macro average is taken over the
labels that occur.  A prediction that is not such a label lowers the recall of the right one and
counts nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    f1_score,
    precision_recall_fscore_support,
)

from corpus.evaluation.results import (
    Calibration,
    CalibrationBin,
    ConfidenceInterval,
    ConfusionMatrix,
    LabelScore,
    McNemarTest,
)

Floats = NDArray[np.float64]

RESAMPLES = 1000
SEED = 412
_LEVEL = 0.95

CONFIDENCE_EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""Bins of the calibration curve, finer where verdicts are acted on."""


class Predictions:
    """Labels, predictions and groups of near-copies, one of each per log.

    A prediction may be None and may be a label that never occurs.  Every group has the weight 1,
    which its logs share evenly.
    """

    def __init__(
        self, labels: Sequence[str], predicted: Sequence[str | None], groups: Sequence[int]
    ) -> None:
        self.names = sorted(set(labels))
        self._labels = np.array(labels, dtype=np.str_)
        self._predicted = np.array([one or "" for one in predicted], dtype=np.str_)
        _, self._groups = np.unique(np.asarray(groups, dtype=np.intp), return_inverse=True)
        self.group_count = int(self._groups.max(initial=-1)) + 1
        sizes = np.bincount(self._groups, minlength=self.group_count)
        self.weights: Floats = 1.0 / sizes[self._groups]

    @property
    def is_correct(self) -> NDArray[np.bool_]:
        """For each log, whether the prediction is the label."""
        correct: NDArray[np.bool_] = self._labels == self._predicted
        return correct

    def accuracy(self) -> float:
        """Return the share of the weight whose prediction is the label."""
        return float(accuracy_score(self._labels, self._predicted, sample_weight=self.weights))

    def macro_f1(self) -> float:
        """Return the mean F1 of the labels that occur."""
        return float(
            f1_score(
                self._labels,
                self._predicted,
                labels=self.names,
                average="macro",
                sample_weight=self.weights,
                zero_division=0,
            )
        )

    def per_label(self) -> dict[str, LabelScore]:
        """Return the scores of each label that occurs."""
        scores = precision_recall_fscore_support(
            self._labels,
            self._predicted,
            labels=self.names,
            sample_weight=self.weights,
            zero_division=0,
        )
        logs = [int((self._labels == name).sum()) for name in self.names]
        columns = zip(self.names, logs, *scores, strict=True)
        return {name: LabelScore(count, *map(float, four)) for name, count, *four in columns}

    def confusion(self) -> ConfusionMatrix:
        """Return the weight of each label (rows) that got each prediction (columns)."""
        order = sorted({*self._labels.tolist(), *self._predicted.tolist()})
        table = confusion_matrix(
            self._labels, self._predicted, labels=order, sample_weight=self.weights
        )
        return ConfusionMatrix(tuple(order), tuple(tuple(row) for row in table.tolist()))

    def accuracy_interval(
        self, *, resamples: int = RESAMPLES, seed: int = SEED
    ) -> ConfidenceInterval:
        """Return the accuracy with its bootstrap interval."""
        drawn = self._accuracies(self._draw_weights(resamples, seed))
        return _percentile_interval(self.accuracy(), drawn)

    def macro_f1_interval(
        self, *, resamples: int = RESAMPLES, seed: int = SEED
    ) -> ConfidenceInterval:
        """Return the macro-F1 with its bootstrap interval."""
        drawn = self._macro_f1s(self._draw_weights(resamples, seed))
        return _percentile_interval(self.macro_f1(), drawn)

    def mcnemar(self, other: Predictions) -> McNemarTest:
        """Return McNemar's exact test of this against *other*, on the same logs.

        A group votes once, for the classifier that predicts more of it correctly.
        """
        gain = self.is_correct.astype(int) - other.is_correct.astype(int)
        votes = np.sign(np.bincount(self._groups, gain, self.group_count).round(9))
        ours, theirs = int((votes > 0).sum()), int((votes < 0).sum())
        p = float(binomtest(ours, ours + theirs).pvalue) if ours + theirs else 1.0
        return McNemarTest(ours, theirs, p)

    def calibration(self, confidence: Sequence[float]) -> Calibration:
        """Return the calibration curve over :data:`CONFIDENCE_EDGES` and its expected error.

        scikit-learn's ``calibration_curve`` takes neither weights nor edges.
        """
        stated = np.asarray(confidence, dtype=np.float64)
        bins = []
        for low, high in pairwise(CONFIDENCE_EDGES):
            inside = (stated > low) & (stated <= high) if low else stated <= high
            if not inside.any():
                continue
            weights = self.weights[inside]
            mean = float(np.average(stated[inside], weights=weights))
            correct = float(np.average(self.is_correct[inside], weights=weights))
            bins.append(CalibrationBin(low, high, float(weights.sum()), mean, correct))
        error = sum(one.weight * abs(one.right - one.confidence) for one in bins)
        return Calibration(tuple(bins), error / float(self.weights.sum()))

    def _draw_weights(self, resamples: int, seed: int) -> Floats:
        """Return the weights of the logs in each of *resamples* draws (rows).

        Groups are drawn with replacement, never single logs: copies of a log would make the
        interval narrower than a new corpus would.  Each draw has as many groups of each label as
        there are, so that the average is always over the same labels.
        """
        random = np.random.default_rng(seed)
        label_of = np.empty(self.group_count, dtype=self._labels.dtype)
        label_of[self._groups] = self._labels
        times = np.zeros((resamples, self.group_count))
        for name in self.names:
            members = np.flatnonzero(label_of == name)
            if len(members):  # else its logs are copies of logs with another label
                shares = np.full(len(members), 1 / len(members))
                times[:, members] = random.multinomial(len(members), shares, resamples)
        drawn: Floats = self.weights * times[:, self._groups]
        return drawn

    def _accuracies(self, drawn: Floats) -> Floats:
        """Return the accuracy of each draw."""
        accuracies: Floats = drawn @ self.is_correct / drawn.sum(axis=1)
        return accuracies

    def _macro_f1s(self, drawn: Floats) -> Floats:
        """Return the macro-F1 of each draw, without a call of ``f1_score`` for each.

        An evaluation has 30 intervals, and 1,000 calls take seconds.
        """
        labels, predicted = (
            (column[:, None] == np.array(self.names)).astype(np.float64)
            for column in (self._labels, self._predicted)
        )
        hits, actual, named = drawn @ (labels * predicted), drawn @ labels, drawn @ predicted
        occurs = actual > 0
        f1 = np.divide(2 * hits, actual + named, out=np.zeros_like(hits), where=occurs)
        means: Floats = f1.sum(axis=1) / occurs.sum(axis=1)
        return means


def _percentile_interval(value: float, drawn: Floats) -> ConfidenceInterval:
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(drawn, (tail, 1 - tail))
    return ConfidenceInterval(value, float(low), float(high))
