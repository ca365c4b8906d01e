"""When the end of a run is told, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from gpualert_common.notify.decide import (
    HOLD,
    NEXT_ATTEMPT_SLACK_S,
    OUTCOME_S,
    SEND,
    SKIP,
    WAIT,
    AlertDecision,
    decide,
)

ENDED = 1000.0
LAST = {"is_last": True, "adopt_within_s": 0.0}
NOT_LAST = {"is_last": False, "adopt_within_s": 300.0}
FAILED_FOR_GOOD = {"state": "failed", "final": True}
TO_BE_RETRIED = {"state": "up_for_retry", "final": False, "next_within_s": 100.0}


def step(after_s: float = 0.0, **facts: Any) -> AlertDecision:
    """The step for a failed run that is nobody's task, but for what ``facts`` say."""
    usual: dict[str, Any] = {
        "wanted": "failure",
        "ended_at": ENDED,
        "well": False,
        "custody": None,
        "outcome": None,
        "succeeded": False,
    }
    return decide(ENDED + after_s, **{**usual, **facts})


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        pytest.param({}, SEND, id="failed"),
        pytest.param({"well": True}, SKIP, id="well"),
        pytest.param({"well": True, "wanted": "always"}, SEND, id="well-and-always"),
        pytest.param({"wanted": "never"}, SKIP, id="never"),
        pytest.param({"wanted": None}, SKIP, id="no-channel"),
    ],
)
def test_without_engine(facts: dict[str, Any], kind: str) -> None:
    """The end of a run that is nobody's task is told at once, if it is one of those wanted."""
    assert step(**facts).kind == kind


@pytest.mark.parametrize("custody", [LAST, NOT_LAST], ids=["last", "not-last"])
@pytest.mark.parametrize("well", [False, True], ids=["failed", "well"])
def test_outcome_is_waited_for(custody: dict[str, Any], *, well: bool) -> None:
    """For ten seconds a task may still say what became of it, whatever the training says."""
    found = step(OUTCOME_S - 0.1, custody=custody, well=well)
    assert (found.kind, found.until) == (WAIT, ENDED + OUTCOME_S)


def test_silence_of_a_last_attempt() -> None:
    """Without an outcome the last attempt's failure is told once it was waited for."""
    assert step(OUTCOME_S, custody=LAST).kind == SEND


def test_silence_of_an_earlier_attempt() -> None:
    """Without an outcome an earlier attempt's failure is held for as long as it may be adopted."""
    found = step(OUTCOME_S, custody=NOT_LAST)
    assert (found.kind, found.until) == (HOLD, ENDED + 300.0 + NEXT_ATTEMPT_SLACK_S)


def test_silence_after_a_good_end() -> None:
    """A good end that nobody came for is not told as a failure."""
    assert step(OUTCOME_S, custody=LAST, well=True).kind == SKIP


def test_final_failure() -> None:
    """A failure that is final is told at once."""
    assert step(custody=NOT_LAST, outcome=FAILED_FOR_GOOD).kind == SEND


def test_retry_is_awaited() -> None:
    """A failure that is retried is held for as long as the face said that takes."""
    found = step(99.0, custody=NOT_LAST, outcome=TO_BE_RETRIED)
    assert (found.kind, found.until) == (HOLD, ENDED + 100.0)


def test_retry_that_never_came() -> None:
    """It is told when no attempt came in time."""
    assert step(100.0, custody=NOT_LAST, outcome=TO_BE_RETRIED).kind == SEND


@pytest.mark.parametrize("outcome", [None, TO_BE_RETRIED], ids=["no-outcome", "to-be-retried"])
def test_successor(outcome: dict[str, Any] | None) -> None:
    """Once a later attempt has begun, it tells, and this one does not."""
    assert step(5.0, custody=NOT_LAST, outcome=outcome, succeeded=True).kind == SKIP


def test_successor_after_a_final_failure() -> None:
    """A task that was cleared by hand still had failed for good: that alert is not taken back."""
    assert step(custody=LAST, outcome=FAILED_FOR_GOOD, succeeded=True).kind == SEND


@pytest.mark.parametrize("state", ["success", "skipped"])
def test_task_that_passed(state: str) -> None:
    """A task that passed, whatever status its training had, is no failure."""
    assert step(custody=LAST, outcome={"state": state, "final": True}).kind == SKIP


def test_task_that_failed_after_a_good_training() -> None:
    """A task that failed although its training ended well is told."""
    assert step(custody=LAST, outcome=FAILED_FOR_GOOD, well=True).kind == SEND


@pytest.mark.parametrize("within", [None, "soon", True], ids=str)
def test_next_attempt_without_a_time(within: object) -> None:
    """A face that does not say when the next attempt comes gets the time of an adoption."""
    outcome = {**TO_BE_RETRIED, "next_within_s": within}
    found = step(50.0, custody=NOT_LAST, outcome=outcome)
    assert (found.kind, found.until) == (HOLD, ENDED + 300.0 + NEXT_ATTEMPT_SLACK_S)
