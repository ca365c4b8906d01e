"""The condition of a run, from its state, verdict and exit status."""

from __future__ import annotations

import pytest

from gpualert_common.causes import SLOW_CAUSES
from gpualert_common.listing.condition import FAILURES, Condition, determine_condition
from gpualert_common.model import Disposition
from gpualert_common.record import RunState


@pytest.mark.parametrize("state", [state for state in RunState if state is not RunState.ENDED])
def test_run_that_has_not_ended(state: RunState) -> None:
    """The condition of a run that has not ended is its state."""
    assert str(determine_condition(state, None, None, None)) == str(state)


@pytest.mark.parametrize(
    ("exit_code", "condition"),
    [(0, Condition.COMPLETED), (1, Condition.FAILED), (-9, Condition.FAILED), (None, "unknown")],
)
def test_run_without_a_verdict(exit_code: int | None, condition: Condition) -> None:
    """Without a verdict the exit status decides."""
    assert determine_condition(RunState.ENDED, None, None, exit_code) == condition


@pytest.mark.parametrize("disposition", Disposition)
def test_every_disposition(disposition: Disposition) -> None:
    """Every disposition has a condition; those of bad ends are failures."""
    found = determine_condition(RunState.ENDED, disposition, "none", 0)
    assert (found is Condition.COMPLETED) == (disposition is Disposition.COMPLETED)
    is_good = disposition in ("completed", "cancelled", "preempted")
    assert (found in FAILURES) == (not is_good)


@pytest.mark.parametrize("cause", ["nan_loss", "cuda_oom", *sorted(SLOW_CAUSES)])
def test_completed_run_with_a_cause(cause: str) -> None:
    """A completed run with a cause is suspect, or only slow, which is no failure."""
    found = determine_condition(RunState.ENDED, "completed", cause, 0)
    assert found is (Condition.SLOW if cause in SLOW_CAUSES else Condition.SUSPECT)
    assert (found in FAILURES) == (cause not in SLOW_CAUSES)
