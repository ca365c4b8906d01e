"""Effects of faults in a flow, engine, worker or server on a training.

Every fault is done to all of our faces at once.  With ``--controls`` it is also done to those of
prefect-shell, which nothing asserts, and the table goes to ``.bench/prefect-faults.json``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.prefect import rows
from tests.faults.prefect.deployment import ROOT, Place
from tests.faults.prefect.rows import FAULTS, OURS, Fault, Outcome

pytestmark = pytest.mark.e2e

FIGURES = ROOT / ".bench" / "prefect-faults.json"


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Iterator[list[Outcome]]:
    """Outcomes of every fault, which are printed and, with controls, stored at the end."""
    found: list[Outcome] = []
    yield found
    print(f"\n{rows.table(found)}")
    if request.config.getoption("controls"):
        rows.store_outcomes(FIGURES, found)


@pytest.fixture(scope="module", params=FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def row(
    request: pytest.FixtureRequest, place: Place, outcomes: list[Outcome]
) -> tuple[Fault, dict[str, Outcome]]:
    """One fault, and its outcome for each face."""
    fault: Fault = request.param
    faces = fault.faces if request.config.getoption("controls") else OURS
    found = rows.play(fault, place, faces)
    outcomes += found.values()
    return fault, found


@pytest.mark.parametrize("face", OURS)
def test_ours(row: tuple[Fault, dict[str, Outcome]], face: str) -> None:
    """No process is left, two trainings never ran at once, and nothing claims a success."""
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
    assert outcome.task != "returned"
    assert outcome.state != "Completed"
    assert outcome.record["signal"] is not None
    assert outcome.record["disposition"] != "completed"
    if fault.how == "save":
        assert outcome.record["exit_code"] == 0
