"""Scores against results that were computed by hand."""

from __future__ import annotations

import pytest

from corpus.evaluation.metrics import Predictions


def test_macro_f1_by_hand() -> None:
    """F1 of a is 2*2/(2+3) = 0.8, of b 2*1/(2+1) = 0.667: the mean is 0.7333."""
    predictions = Predictions(["a", "a", "b", "b"], ["a", "a", "a", "b"], [0, 1, 2, 3])
    assert predictions.macro_f1() == pytest.approx((0.8 + 2 / 3) / 2)
    assert predictions.accuracy() == 0.75


def test_copies_share_the_weight_of_one() -> None:
    """With three copies predicted right and one other log wrong, half of the weight is right."""
    predictions = Predictions(["a", "a", "a", "b"], ["a", "a", "a", "a"], [7, 7, 7, 9])
    assert predictions.group_count == 2
    assert predictions.weights == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])
    assert predictions.accuracy() == pytest.approx(0.5)
    assert predictions.macro_f1() == pytest.approx((2 * 1 / (1 + 2) + 0) / 2)


def test_per_label_by_hand() -> None:
    """None and a label that never occurs only lower the recall of the right label."""
    scores = Predictions(
        ["a", "a", "b", "c"], ["a", None, "a", "unknown"], [0, 1, 2, 3]
    ).per_label()
    assert set(scores) == {"a", "b", "c"}
    assert (scores["a"].precision, scores["a"].recall, scores["a"].f1) == (0.5, 0.5, 0.5)
    assert (scores["b"].precision, scores["b"].recall, scores["b"].f1) == (0, 0, 0)


def test_an_unknown_prediction_costs_only_recall() -> None:
    """A prediction that is no label of the corpus is not averaged as a label of its own."""
    predictions = Predictions(["a", "a", "b"], ["a", "unknown", "b"], [0, 1, 2])
    assert predictions.macro_f1() == pytest.approx((2 * 1 / (2 + 1) + 1) / 2)


def test_interval_is_the_same_for_the_same_seed() -> None:
    """The bootstrap gives the same interval each time, around the figure."""
    labels = ["a", "b"] * 30
    named = [one if number % 5 else "b" for number, one in enumerate(labels)]
    predictions = Predictions(labels, named, range(60))
    first = predictions.macro_f1_interval(resamples=30)
    assert first == predictions.macro_f1_interval(resamples=30)
    assert first != predictions.macro_f1_interval(resamples=30, seed=1)
    assert first.low < first.value < first.high


def test_draws_are_scored_as_scikit_learn_scores() -> None:
    """The figures of a draw are those of scikit-learn for the same logs."""
    labels, predicted = list("aabbbcd"), ["a", "b", "b", None, "x", "c", "a"]
    predictions = Predictions(labels, predicted, [0, 1, 2, 3, 3, 4, 5])
    weights = predictions.weights[None]
    assert predictions._macro_f1s(weights) == pytest.approx([predictions.macro_f1()])
    assert predictions._accuracies(weights) == pytest.approx([predictions.accuracy()])


def test_copies_do_not_narrow_the_interval() -> None:
    """Ten copies of each log make the interval no narrower."""
    labels, named = ["a"] * 20, ["a"] * 15 + ["b"] * 5
    once = Predictions(labels, named, range(20))
    copied = Predictions(labels * 10, named * 10, [*range(20)] * 10)
    narrow, wide = (one.accuracy_interval(resamples=200) for one in (copied, once))
    assert (narrow.low, narrow.high) == pytest.approx((wide.low, wide.high))


def test_every_label_is_in_every_draw() -> None:
    """A label with one log is in every draw, so that the average is over the same labels."""
    predictions = Predictions(["a"] * 50 + ["b"], ["a"] * 50 + ["a"], range(51))
    interval = predictions.macro_f1_interval(resamples=100)
    assert interval.high < 0.51


def test_a_label_may_have_no_group_of_its_own() -> None:
    """Copies of one log under two labels are drawn together."""
    predictions = Predictions(["a", "b", "b"], ["a", "b", "b"], [0, 0, 1])
    assert predictions.accuracy_interval(resamples=10).low == 1.0


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [(0, 0, 1.0), (5, 0, 2 / 32), (5, 1, 2 * 7 / 64), (3, 3, 1.0), (1, 8, 2 * 10 / 512)],
)
def test_mcnemar_by_hand(only_first: int, only_second: int, p: float) -> None:
    """The exact p-value is twice the tail of the binomial over the logs that differ."""
    both = 4
    ours = ["a"] * (only_first + both) + ["x"] * only_second
    theirs = ["x"] * only_first + ["a"] * (both + only_second)
    groups = range(len(ours))
    labels = ["a"] * len(ours)
    test = Predictions(labels, ours, groups).mcnemar(Predictions(labels, theirs, groups))
    assert (test.only_ours, test.only_theirs) == (only_first, only_second)
    assert test.p == pytest.approx(p)


def test_a_group_votes_once() -> None:
    """Nine copies that only one classifier predicts right are one vote for it."""
    labels, groups = ["a"] * 10, [0] * 9 + [1]
    test = Predictions(labels, ["a"] * 9 + ["x"], groups).mcnemar(
        Predictions(labels, ["x"] * 9 + ["a"], groups)
    )
    assert (test.only_ours, test.only_theirs, test.p) == (1, 1, 1.0)


def test_calibration_by_hand() -> None:
    """Two bins: confidence 0.85 and half of them right, 0.97 and all of them right."""
    predictions = Predictions(["a"] * 4, ["a", "b", "a", "a"], range(4))
    calibration = predictions.calibration([0.85, 0.85, 0.97, 0.97])
    assert [(one.low, one.high) for one in calibration.bins] == [(0.8, 0.9), (0.95, 1.0)]
    assert [one.right for one in calibration.bins] == [0.5, 1.0]
    assert calibration.error == pytest.approx((2 * 0.35 + 2 * 0.03) / 4)


def test_confusion_by_hand() -> None:
    """Rows are labels, columns predictions, and copies share the weight of one log."""
    matrix = Predictions(["a", "a", "b"], ["a", "b", "c"], [0, 1, 1]).confusion()
    assert matrix.labels == ("a", "b", "c")
    assert matrix.weights == ((1.0, 0.5, 0.0), (0.0, 0.0, 0.5), (0.0, 0.0, 0.0))
