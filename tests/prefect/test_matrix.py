"""What is left of a training when its flow, engine, worker or server comes to harm.

Every fault is done to our tasks and to those of prefect-shell at once; ours are asserted.
"""

from __future__ import annotations

import pytest

from tests.prefect import matrix
from tests.prefect.matrix import FAULTS, OURS, Fault, Outcome, Place

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module", params=FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def row(
    request: pytest.FixtureRequest, place: Place, outcomes: list[Outcome]
) -> tuple[Fault, dict[str, Outcome]]:
    """One fault, and what came of every face."""
    fault: Fault = request.param
    found = matrix.play(fault, place)
    outcomes += found.values()
    return fault, found


@pytest.mark.parametrize("face", OURS)
def test_ours(row: tuple[Fault, dict[str, Outcome]], face: str) -> None:
    """Nothing is left, there never were two, and neither task nor record claims a success."""
    fault, found = row
    outcome = found[face]
    assert outcome.left == 0
    assert outcome.gone_s is not None
    assert outcome.most == 1
    assert outcome.record["runs"] == 1
    assert outcome.record["state"] == "ended"
    assert outcome.record["disposition"] == (fault.disposition or outcome.record["disposition"])
    if fault.disposition == "completed":  # no reason to end a training: it came to its own end
        assert outcome.task == "returned"
        assert outcome.record["exit_code"] == 0
        return
    assert outcome.gone_s < matrix.MOST_S + matrix.GRACE_S
    assert outcome.task != "returned"
    assert outcome.state != "Completed"
    assert outcome.record["signal"] is not None
    assert outcome.record["disposition"] != "completed"
    if fault.how == "save":
        assert outcome.record["exit_code"] == 0
