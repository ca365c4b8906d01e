"""The schedule of the alert about a run's end, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from gpualert_common.jobs.alerts.alert_action import JobAlertAction
from gpualert_common.launch_record import ChannelConfig
from gpualert_common.notify.job_part import JobPart
from gpualert_common.notify.schedule import (
    NEXT_ATTEMPT_SLACK_S,
    OUTCOME_S,
    AlertAction,
    AlertDecision,
    AlertFacts,
    Schedule,
    decide_action,
    schedule,
)

SKIP, WAIT, HOLD, AGREE, SEND = AlertAction

ENDED = 1000.0
LAST = {"is_last": True, "adopt_within_s": 0.0}
NOT_LAST = {"is_last": False, "adopt_within_s": 300.0}
FAILED_FOR_GOOD = {"state": "failed", "final": True}
TO_BE_RETRIED = {"state": "up_for_retry", "final": False, "next_within_s": 100.0}


def decision(after_s: float = 0.0, **facts: Any) -> AlertDecision:
    """Return the decision for a failed run without an engine, changed by ``facts``."""
    usual: dict[str, Any] = {
        "wanted": "failure",
        "ended_at": ENDED,
    }
    return decide_action(AlertFacts(**{**usual, **facts}), ENDED + after_s)


@pytest.mark.parametrize(
    ("facts", "action"),
    [
        pytest.param({}, SEND, id="failed"),
        pytest.param({"is_well": True}, SKIP, id="well"),
        pytest.param({"is_well": True, "wanted": "always"}, SEND, id="well-and-always"),
        pytest.param({"wanted": "never"}, SKIP, id="never"),
        pytest.param({"wanted": None}, SKIP, id="no-channel"),
    ],
)
def test_without_engine(facts: dict[str, Any], action: str) -> None:
    """The end of a run without an engine is sent at once, if it is selected."""
    assert decision(**facts).action == action


@pytest.mark.parametrize("ownership", [LAST, NOT_LAST], ids=["last", "not-last"])
@pytest.mark.parametrize("is_well", [False, True], ids=["failed", "well"])
def test_outcome_is_waited_for(ownership: dict[str, Any], *, is_well: bool) -> None:
    """A task has ten seconds to record its outcome, for any status of the training."""
    found = decision(OUTCOME_S - 0.1, ownership=ownership, is_well=is_well)
    assert (found.action, found.until) == (WAIT, ENDED + OUTCOME_S)


def test_silence_of_a_last_attempt() -> None:
    """Without an outcome the last attempt's failure is sent after the wait."""
    assert decision(OUTCOME_S, ownership=LAST).action == SEND


def test_silence_of_an_earlier_attempt() -> None:
    """Without an outcome an earlier attempt's failure is held while the run may be adopted."""
    found = decision(OUTCOME_S, ownership=NOT_LAST)
    assert (found.action, found.until) == (HOLD, ENDED + 300.0 + NEXT_ATTEMPT_SLACK_S)


def test_silence_of_an_attempt_whose_run_was_left() -> None:
    """The time for an adoption counts from the death of the task, not from the end of the run."""
    facts = {"ownership": NOT_LAST, "adoptable_until": ENDED + 2.0}
    found = decision(OUTCOME_S, **facts)
    assert (found.action, found.until) == (HOLD, ENDED + 2.0 + NEXT_ATTEMPT_SLACK_S)
    assert decision(2.0 + NEXT_ATTEMPT_SLACK_S, **facts).action == SEND


def test_silence_after_a_good_end() -> None:
    """A success without a follower is not sent as a failure."""
    assert decision(OUTCOME_S, ownership=LAST, is_well=True).action == SKIP


def test_final_failure() -> None:
    """A final failure is sent at once."""
    assert decision(ownership=NOT_LAST, outcome=FAILED_FOR_GOOD).action == SEND


def test_retry_is_awaited() -> None:
    """A failure that is retried is held for the time that the engine gave."""
    found = decision(99.0, ownership=NOT_LAST, outcome=TO_BE_RETRIED)
    assert (found.action, found.until) == (HOLD, ENDED + 100.0)


def test_retry_that_never_came() -> None:
    """A held failure is sent if no attempt came in time."""
    assert decision(100.0, ownership=NOT_LAST, outcome=TO_BE_RETRIED).action == SEND


@pytest.mark.parametrize("outcome", [None, TO_BE_RETRIED], ids=["no-outcome", "to-be-retried"])
def test_successor(outcome: dict[str, Any] | None) -> None:
    """Once a later attempt has begun, it sends, and the earlier one does not."""
    assert decision(5.0, ownership=NOT_LAST, outcome=outcome, has_successor=True).action == SKIP


def test_successor_after_a_final_failure() -> None:
    """The alert about a final failure is not withdrawn when the task is cleared."""
    assert decision(ownership=LAST, outcome=FAILED_FOR_GOOD, has_successor=True).action == SEND


@pytest.mark.parametrize("state", ["success", "skipped"])
def test_task_that_passed(state: str) -> None:
    """A task that passed is no failure, for any status of its training."""
    assert decision(ownership=LAST, outcome={"state": state, "final": True}).action == SKIP


@pytest.mark.parametrize("state", ["success", "skipped"])
def test_task_that_passed_with_a_suspect_run(state: str) -> None:
    """A failure behind exit status 0 is sent, although its task passed."""
    passed = {"state": state, "final": True}
    assert decision(ownership=LAST, outcome=passed, is_suspect=True).action == SEND


def test_task_that_failed_after_a_good_training() -> None:
    """A task that failed although its training ended well is sent."""
    assert decision(ownership=LAST, outcome=FAILED_FOR_GOOD, is_well=True).action == SEND


@pytest.mark.parametrize("within", [None, "soon", True], ids=str)
def test_next_attempt_without_a_time(within: object) -> None:
    """Without a time for the next attempt, the time of an adoption counts."""
    outcome = {**TO_BE_RETRIED, "next_within_s": within}
    found = decision(50.0, ownership=NOT_LAST, outcome=outcome)
    assert (found.action, found.until) == (HOLD, ENDED + 300.0 + NEXT_ATTEMPT_SLACK_S)


CHANNELS: list[ChannelConfig] = [{"name": "ops", "kind": "mailbox", "settings": {}}]
EXTRA: list[ChannelConfig] = [{"name": "chat", "kind": "mailbox", "settings": {}}]


@pytest.mark.parametrize(
    ("facts", "send_now", "state", "names"),
    [
        pytest.param({}, False, "pending", ["ops", "chat"], id="due"),
        pytest.param({"ended_at": None}, True, "held", [], id="not-ended"),
        pytest.param({"is_well": True}, False, "held", [], id="nothing-to-send"),
        pytest.param({"is_well": True}, True, "pending", ["chat"], id="only-asked-for"),
        pytest.param(
            {"ownership": NOT_LAST, "outcome": TO_BE_RETRIED},
            False,
            "held",
            ["ops", "chat"],
            id="held",
        ),
    ],
)
def test_entries(facts: dict[str, Any], send_now: bool, state: str, names: list[str]) -> None:
    """The run's own channels get an entry when its end is selected, others on request."""
    usual: dict[str, Any] = {"wanted": "failure", "ended_at": ENDED, "channels": CHANNELS}
    plan = schedule(AlertFacts(**{**usual, **facts}), ENDED, EXTRA, send_now=send_now)
    assert (plan.state, [channel["name"] for channel in plan.channels]) == (state, names)


def test_held_entry() -> None:
    """A held entry is released, retired or moved by the decision, otherwise unchanged."""
    for action, changes in (
        (SEND, {"state": "pending", "due": 0.0}),
        (SKIP, {"state": "superseded", "because": "why"}),
        (HOLD, {"due": 5.0}),
        (AGREE, {"due": 0.0, "because": "why"}),
        (WAIT, {}),
    ):
        plan = Schedule(AlertDecision(action, "why", 5.0), [])
        assert plan.change_of_held({"due": 4.0}) == changes
    assert Schedule(AlertDecision(HOLD, "why", 5.0), []).change_of_held({"due": 5.0}) == {}
    agreed = Schedule(AlertDecision(AGREE, "why"), [])
    assert agreed.change_of_held({"due": 0.0, "because": "why"}) == {}
    assert agreed.change_of_held({"due": 0.0, "because": "else"})["because"] == "why"


@pytest.mark.parametrize(
    ("facts", "action"),
    [
        pytest.param({"action": JobAlertAction.WAIT}, AGREE, id="not-agreed"),
        pytest.param({"action": JobAlertAction.SEND}, SEND, id="sends"),
        pytest.param({"action": JobAlertAction.ADD}, SEND, id="adds"),
        pytest.param({"action": JobAlertAction.LEAVE}, SKIP, id="another-node"),
    ],
)
def test_job(facts: dict[str, Any], action: str) -> None:
    """The alert of a run of a job is sent by the node on which its nodes agree."""
    found = decision(job=JobPart(because="as agreed", **facts))
    assert (found.action, found.because) == (
        action,
        "as agreed" if action != SEND else found.because,
    )


def test_job_does_not_widen_the_choice() -> None:
    """A run whose alert is not wanted, or held for another attempt, does not ask its job."""
    part = JobPart(action=JobAlertAction.SEND)
    assert decision(job=part, is_well=True).action == SKIP
    assert decision(job=part, ownership=NOT_LAST, outcome=TO_BE_RETRIED).action == HOLD


def test_alert_asked_for_does_not_ask_the_job() -> None:
    """A person who asks for the alert of a run gets it, whoever sends that of the job."""
    facts = AlertFacts(wanted="failure", ended_at=ENDED, job=JobPart(action=JobAlertAction.LEAVE))
    assert schedule(facts, ENDED, send_now=True).decision.action == SEND
