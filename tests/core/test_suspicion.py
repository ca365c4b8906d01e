"""Suspect runs, and the reaction of a task to them."""

from __future__ import annotations

import pytest

from gpualert_common.errors import UsageError
from gpualert_common.model import Disposition
from gpualert_common.redact import Redactor
from gpualert_common.suspicion import (
    OnSuspect,
    choose_reaction,
    explain_suspicion,
    is_suspect,
    parse_on_suspect,
)
from tests.verdicts import verdict_with


@pytest.mark.parametrize(
    ("disposition", "cause", "expected"),
    [
        (Disposition.COMPLETED, "nan_loss", True),
        (Disposition.COMPLETED, "none", False),
        (Disposition.COMPLETED, "unknown", False),
        (Disposition.FAILED, "nan_loss", False),
        (Disposition.CANCELLED, "cancelled", False),
        (Disposition.PREEMPTED, "preempted", False),
    ],
)
def test_suspect_run(disposition: Disposition, cause: str, *, expected: bool) -> None:
    """A run is suspect if it completed by itself and its verdict names a cause."""
    assert is_suspect(verdict_with(disposition=disposition, cause=cause)) is expected


@pytest.mark.parametrize("choice", OnSuspect)
def test_reaction_is_the_choice(choice: OnSuspect) -> None:
    """A run with a failure behind exit status 0 gets the reaction that the author chose."""
    verdict = verdict_with(disposition=Disposition.COMPLETED, cause="nan_loss")
    assert choose_reaction(verdict, choice) is choice


@pytest.mark.parametrize("choice", OnSuspect)
def test_slow_run_does_not_fail(choice: OnSuspect) -> None:
    """A training that was only slow is a warning, since its result is good."""
    verdict = verdict_with(disposition=Disposition.COMPLETED, cause="under_utilization")
    assert choose_reaction(verdict, choice) is OnSuspect.WARN


def test_reaction_to_a_good_run() -> None:
    """A good run, and one without a verdict, get no reaction."""
    verdict = verdict_with(disposition=Disposition.COMPLETED, cause="none")
    assert choose_reaction(verdict, OnSuspect.FAIL) is None
    assert choose_reaction(None, OnSuspect.FAIL) is None
    assert explain_suspicion(verdict, Redactor()) is None


def test_explanation_is_one_masked_line() -> None:
    """The explanation has the cause and the headline, without secrets and line breaks."""
    headline = "loss is NaN\nwith password=hunter2hunter2"
    verdict = verdict_with(disposition=Disposition.COMPLETED, cause="nan_loss", headline=headline)
    line = explain_suspicion(verdict, Redactor())
    assert line is not None
    assert line.startswith("nan_loss: loss is NaN with password=")
    assert "hunter2hunter2" not in line


def test_wrong_choice_is_refused() -> None:
    """An unknown choice is an error that names the option, the value and the valid ones."""
    assert parse_on_suspect("skip") is OnSuspect.SKIP
    with pytest.raises(UsageError, match=r"on_suspect: 'warm' .*did you mean warn"):
        parse_on_suspect("warm")
