"""Scores of names against labels.  Logs have weights, and near-copies share the weight of one.

A macro average is taken over the labels that occur: naming one that never does costs the recall
of the right one, and nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float64]

RESAMPLES = 1000
SEED = 412
_LEVEL = 0.95

CONFIDENCE_EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""Bins of the calibration curve: finer where verdicts are acted on."""


@dataclass(frozen=True, slots=True)
class LabelScore:
    """How one label fared.  ``weight`` is that of its logs; precision is 0 when never named."""

    precision: float
    recall: float
    f1: float
    weight: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and its bootstrap interval of 95 %."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class McNemar:
    """Two classifiers on the same logs: how often only one of them was right, and the p-value."""

    only_first: int
    only_second: int
    p: float


@dataclass(frozen=True, slots=True)
class Bin:
    """Verdicts with a confidence in (low, high]: their weight, mean confidence, share right."""

    low: float
    high: float
    weight: float
    confidence: float
    right: float


class Answers:
    """Labels, what was named instead of them, and groups of near-copies: ready to be scored.

    ``named`` may hold None (nothing was named) and labels that never occur.  Every group has the
    weight 1, shared evenly by its logs.
    """

    def __init__(
        self, labels: Sequence[str], named: Sequence[str | None], groups: Sequence[int]
    ) -> None:
        self.names = sorted(set(labels))
        code = {name: number for number, name in enumerate(self.names)}
        self._truth = np.array([code[label] for label in labels], dtype=np.intp)
        # What is no label that occurs gets a number behind them all, which is never averaged.
        self._named = np.array([code.get(one or "", len(code)) for one in named], dtype=np.intp)
        _, self._groups = np.unique(np.asarray(groups, dtype=np.intp), return_inverse=True)
        self.group_count = int(self._groups.max(initial=-1)) + 1
        sizes = np.bincount(self._groups, minlength=self.group_count)
        self.weights: Weights = 1.0 / sizes[self._groups]

    @property
    def right(self) -> NDArray[np.bool_]:
        """For each log, whether its label was named."""
        right: NDArray[np.bool_] = self._truth == self._named
        return right

    def accuracy(self, weights: Weights | None = None) -> float:
        """The share of the weight that was named right."""
        weights = self.weights if weights is None else weights
        total = weights.sum()
        return float(weights[self.right].sum() / total) if total else 0.0

    def macro_f1(self, weights: Weights | None = None) -> float:
        """The mean F1 of the labels that have weight."""
        hit, there, named = self._counts(self.weights if weights is None else weights)
        occurs = there > 0
        if not occurs.any():
            return 0.0
        return float((2 * hit[occurs] / (there[occurs] + named[occurs])).mean())

    def per_label(self) -> dict[str, LabelScore]:
        """The scores of each label that occurs."""
        hit, there, named = self._counts(self.weights)
        return {
            name: LabelScore(
                precision=float(hit[at] / named[at]) if named[at] else 0.0,
                recall=float(hit[at] / there[at]),
                f1=float(2 * hit[at] / (there[at] + named[at])),
                weight=float(there[at]),
            )
            for at, name in enumerate(self.names)
        }

    def interval(
        self,
        figure: Callable[[Weights], float],
        *,
        resamples: int = RESAMPLES,
        seed: int = SEED,
    ) -> Interval:
        """*figure* (a method of this class) with its percentile interval.

        Groups are drawn with replacement, never single logs: copies of a log would make the
        interval look narrower than what a new corpus would give.  As many are drawn of each label
        as it has, so that the average is always over the same labels.
        """
        random = np.random.default_rng(seed)
        label = np.zeros(self.group_count, dtype=np.intp)
        label[self._groups] = self._truth
        times = np.zeros((resamples, self.group_count))
        for one in range(len(self.names)):
            members = np.flatnonzero(label == one)
            if len(members):  # else its logs are copies of ones with another label
                shares = np.full(len(members), 1 / len(members))
                times[:, members] = random.multinomial(len(members), shares, resamples)
        drawn = [figure(self.weights * counts[self._groups]) for counts in times]
        tail = (1 - _LEVEL) / 2
        low, high = np.quantile(drawn, (tail, 1 - tail))
        return Interval(figure(self.weights), float(low), float(high))

    def mcnemar(self, other: Answers) -> McNemar:
        """The exact test of this against *other*, on the same logs.

        A group votes once, for the classifier that has more of it right.
        """
        gain = self.right.astype(int) - other.right.astype(int)
        votes = np.sign(np.bincount(self._groups, gain, self.group_count).round(9))
        ours, theirs = int((votes > 0).sum()), int((votes < 0).sum())
        return McNemar(ours, theirs, _sign_test(ours, theirs))

    def calibration(self, confidence: Sequence[float]) -> tuple[list[Bin], float]:
        """The calibration curve over :data:`CONFIDENCE_EDGES`, and its expected error."""
        said = np.asarray(confidence, dtype=np.float64)
        curve, error = [], 0.0
        for low, high in pairwise(CONFIDENCE_EDGES):
            inside = (said > low) & (said <= high) if low else said <= high
            weights = self.weights[inside]
            weight = float(weights.sum())
            if not weight:
                continue
            mean = float((weights * said[inside]).sum() / weight)
            right = float(weights[self.right[inside]].sum() / weight)
            curve.append(Bin(low, high, weight, mean, right))
            error += weight * abs(right - mean)
        total = float(self.weights.sum())
        return curve, error / total if total else 0.0

    def _counts(self, weights: Weights) -> tuple[Weights, Weights, Weights]:
        """For each label the weight of hits, of its logs, and of logs that were named it."""
        size = len(self.names)
        right = self.right
        return (
            _summed(self._truth[right], weights[right], size),
            _summed(self._truth, weights, size),
            _summed(self._named, weights, size + 1)[:size],
        )


def _summed(codes: NDArray[np.intp], weights: Weights, size: int) -> Weights:
    """The weight of each of *size* codes."""
    return np.bincount(codes, weights, size).astype(np.float64)


def _sign_test(one: int, other: int) -> float:
    """The two-sided exact probability of a split as uneven as this, were both as likely."""
    votes = one + other
    tail = sum(comb(votes, count) for count in range(min(one, other) + 1))
    return min(1.0, float(Fraction(2 * tail, 2**votes)))


def confusion(
    labels: Sequence[str], named: Sequence[str], weights: Weights, order: Sequence[str]
) -> NDArray[np.float64]:
    """The weight of logs with each label (rows) that were named so (columns), in this *order*."""
    at: Mapping[str, int] = {name: number for number, name in enumerate(order)}
    table = np.zeros((len(order), len(order)))
    np.add.at(table, ([at[one] for one in labels], [at[one] for one in named]), weights)
    return table
