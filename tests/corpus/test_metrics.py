"""Scores against cases that were computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gpualert_common.corpus.metrics import Answers, confusion


def test_macro_f1_by_hand() -> None:
    """F1 of a is 2*2/(2+3) = 0.8, of b 2*1/(2+1) = 0.667: the mean is 0.7333."""
    answers = Answers(["a", "a", "b", "b"], ["a", "a", "a", "b"], [0, 1, 2, 3])
    assert answers.macro_f1() == pytest.approx((0.8 + 2 / 3) / 2)
    assert answers.accuracy() == 0.75


def test_copies_share_the_weight_of_one() -> None:
    """Three copies named right and one other log named wrong: half of the weight is right."""
    answers = Answers(["a", "a", "a", "b"], ["a", "a", "a", "a"], [7, 7, 7, 9])
    assert answers.group_count == 2
    assert answers.weights == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])
    assert answers.accuracy() == pytest.approx(0.5)
    assert answers.macro_f1() == pytest.approx((2 * 1 / (1 + 2) + 0) / 2)


def test_per_label_by_hand() -> None:
    """Precision, recall and F1 of each label that occurs; None and strangers are only misses."""
    scores = Answers(["a", "a", "b", "c"], ["a", None, "a", "stranger"], [0, 1, 2, 3]).per_label()
    assert set(scores) == {"a", "b", "c"}
    assert (scores["a"].precision, scores["a"].recall, scores["a"].f1) == (0.5, 0.5, 0.5)
    assert (scores["b"].precision, scores["b"].recall, scores["b"].f1) == (0, 0, 0)


def test_a_stranger_costs_only_the_recall() -> None:
    """A name that is no label of the corpus is not averaged as a label of its own."""
    answers = Answers(["a", "a", "b"], ["a", "stranger", "b"], [0, 1, 2])
    assert answers.macro_f1() == pytest.approx((2 * 1 / (2 + 1) + 1) / 2)


def test_interval_is_the_same_for_the_same_seed() -> None:
    """The bootstrap gives the same interval each time, around the figure."""
    labels = ["a", "b"] * 30
    named = [one if number % 5 else "b" for number, one in enumerate(labels)]
    answers = Answers(labels, named, range(60))
    first = answers.interval(answers.macro_f1, resamples=30)
    assert first == answers.interval(answers.macro_f1, resamples=30)
    assert first != answers.interval(answers.macro_f1, resamples=30, seed=1)
    assert first.low < first.value < first.high


def test_interval_knows_copies() -> None:
    """Ten copies of each log make the interval no narrower."""
    labels, named = ["a"] * 20, ["a"] * 15 + ["b"] * 5
    once = Answers(labels, named, range(20))
    copied = Answers(labels * 10, named * 10, [*range(20)] * 10)
    narrow, wide = (one.interval(one.accuracy, resamples=200) for one in (copied, once))
    assert (narrow.low, narrow.high) == pytest.approx((wide.low, wide.high))


def test_every_label_is_in_every_draw() -> None:
    """A label with one log is never drawn away: it would change what the average is over."""
    answers = Answers(["a"] * 50 + ["b"], ["a"] * 50 + ["a"], range(51))
    interval = answers.interval(answers.macro_f1, resamples=100)
    assert interval.high < 0.51


def test_a_label_may_have_no_group_of_its_own() -> None:
    """Copies of one log under two labels are drawn together."""
    answers = Answers(["a", "b", "b"], ["a", "b", "b"], [0, 0, 1])
    assert answers.interval(answers.accuracy, resamples=10).low == 1.0


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
    test = Answers(labels, ours, groups).mcnemar(Answers(labels, theirs, groups))
    assert (test.only_first, test.only_second) == (only_first, only_second)
    assert test.p == pytest.approx(p)


def test_a_group_votes_once() -> None:
    """Nine copies that only one classifier names right are one vote for it."""
    labels, groups = ["a"] * 10, [0] * 9 + [1]
    test = Answers(labels, ["a"] * 9 + ["x"], groups).mcnemar(
        Answers(labels, ["x"] * 9 + ["a"], groups)
    )
    assert (test.only_first, test.only_second, test.p) == (1, 1, 1.0)


def test_calibration_by_hand() -> None:
    """Two bins: said 0.85 and right half the time, said 0.97 and always right."""
    answers = Answers(["a"] * 4, ["a", "b", "a", "a"], range(4))
    curve, error = answers.calibration([0.85, 0.85, 0.97, 0.97])
    assert [(one.low, one.high) for one in curve] == [(0.8, 0.9), (0.95, 1.0)]
    assert [one.right for one in curve] == [0.5, 1.0]
    assert error == pytest.approx((2 * 0.35 + 2 * 0.03) / 4)


def test_confusion_by_hand() -> None:
    """Rows are labels, columns names."""
    table = confusion(["a", "a", "b"], ["a", "b", "b"], np.array([1.0, 0.5, 0.5]), ["a", "b"])
    assert table.tolist() == [[1.0, 0.5], [0.0, 0.5]]
