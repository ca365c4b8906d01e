"""Verdicts that stop retries, and the rules of an author."""

from __future__ import annotations

import dataclasses

import pytest

from gpualert_common.causes import CAUSES
from gpualert_common.classify import load_rules
from gpualert_common.diagnose import conclude
from gpualert_common.errors import UsageError
from gpualert_common.model import ExitFacts, Retry, Verdict
from gpualert_common.retries import DETERMINISTIC, SURE, Action, RetryRules

RULES = load_rules()
PLAIN = conclude(
    run_id="r", attempt=1, host="h", log_path=None, readings=[], facts=ExitFacts(1), rules=RULES
).verdict


def verdict(cause: str, confidence: float = 0.95) -> Verdict:
    """Return a verdict with *cause*."""
    return dataclasses.replace(PLAIN, cause=cause, confidence=confidence)


@pytest.mark.parametrize(
    ("cause", "confidence", "action"),
    [
        ("missing_module", 0.95, Action.STOP),
        ("cuda_oom", SURE, Action.STOP),
        ("cuda_oom", SURE - 0.01, Action.DEFAULT),
        ("network", 0.99, Action.DEFAULT),
        ("nan_loss", 0.99, Action.DEFAULT),
        ("killed_unknown", 0.99, Action.DEFAULT),
    ],
)
def test_careful_default(cause: str, confidence: float, action: Action) -> None:
    """Retries stop only for sure and deterministic causes."""
    advice = RetryRules.of().advise(verdict(cause, confidence))
    assert (advice.action, advice.delay_s) == (action, None)
    assert advice.reason.startswith(f"{cause} (confidence ")


@pytest.mark.parametrize("code", [2, 126, 127])
def test_a_bare_status_is_not_sure(code: int) -> None:
    """A cause from the exit status alone may be that of the last command in a script."""
    found = conclude(
        run_id="r",
        attempt=1,
        host="h",
        log_path=None,
        readings=[],
        facts=ExitFacts(code),
        rules=RULES,
    ).verdict
    assert RetryRules.of().advise(found).action is Action.DEFAULT


def test_others_on_the_card() -> None:
    """No retry is stopped if the verdict says that it may help."""
    found = dataclasses.replace(verdict("cuda_oom"), retry=Retry.ELSEWHERE)
    assert RetryRules.of().advise(found).action is Action.DEFAULT


def test_no_verdict() -> None:
    """Without a verdict the task's own retries apply."""
    assert RetryRules.of({"cuda_oom": "stop"}).advise(None).action is Action.DEFAULT


@pytest.mark.parametrize(
    ("wish", "action", "delay_s"),
    [
        ("stop", Action.STOP, None),
        ("retry", Action.RETRY, None),
        ("default", Action.DEFAULT, None),
        ("10m", Action.RETRY, 600.0),
        (90, Action.RETRY, 90.0),
    ],
)
def test_rules_of_the_author(wish: str | float, action: Action, delay_s: float | None) -> None:
    """A rule for a cause applies to it with any confidence, and to no other cause."""
    rules = RetryRules.of({"cuda_oom": wish})
    advice = rules.advise(verdict("cuda_oom", 0.5))
    assert (advice.action, advice.delay_s) == (action, delay_s)
    assert rules.advise(verdict("pickling")).action is Action.STOP


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({"cuda_omm": "stop"}, "did you mean cuda_oom"),
        ({"what": "stop"}, "'what' is not a cause"),
        ({"network": "soon"}, "network: 'soon' is neither stop"),
        ({"network": -1}, "network: -1 is neither stop"),
    ],
)
def test_invalid_rules(choices: dict[str, str | float], reason: str) -> None:
    """The error names the cause, or the value."""
    with pytest.raises(UsageError, match=reason):
        RetryRules.of(choices)


def test_bad_confidence() -> None:
    """An invalid confidence is refused."""
    with pytest.raises(UsageError, match=r"1\.5"):
        RetryRules.of(sure=1.5)


def test_deterministic_causes_have_rules() -> None:
    """Each is a known cause, and agrees with its rule, if there is one."""
    assert set(CAUSES) >= DETERMINISTIC
    retry = {cause: RULES.by_cause[cause].retry for cause in DETERMINISTIC & RULES.by_cause.keys()}
    assert set(retry.values()) == {"after_fix"}
