"""Attempts whose engine has a note of a run that is not in their own state directory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.guardian.run_location import RunLocation
from gpualert_common.model import RunPlace
from gpualert_common.record import Record
from tests.guardian.faces import SAVES, attempt
from tests.supervised import Lab, until

AWAY = {"host": "another-host", "boot_id": "other", "pid_namespace": "pid:[1]"}


def remembered(lab: Lab, **changes: object) -> tuple[dict[str, Any], Record]:
    """Return a run whose follower has died, and the engine's note of it, with changed values."""
    first = attempt(lab, adopt_within_s=60.0)
    first.wait_for_line("started")
    record = first.record()
    kept = RunLocation.of(record).to_json()
    first.kill()
    return kept | changes, record


def test_run_in_another_state_directory_is_adopted(lab: Lab) -> None:
    """On the same host the path is enough to adopt a run."""
    kept, record = remembered(lab)
    second = attempt(lab, number=2, state=lab.home / "elsewhere", remembered=kept)
    assert second.wait_for("origin") == "adopted"
    assert second.record().path == record.path
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_wait_for_a_run_of_another_host(lab: Lab) -> None:
    """Nothing is launched before a host that is out of reach has ended its training."""
    kept = {**AWAY, "record": "/nowhere/runs/20260101-000000-abc", "ends_within_s": 2.0}
    began = time.monotonic()
    second = attempt(lab, remembered=kept)
    assert second.wait_for("origin") == "launched"
    assert time.monotonic() - began > 2.0
    assert any(
        "host another-host cannot be seen from here" in text for text in second.all("message")
    )
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_wait_for_a_run_can_be_ended(lab: Lab) -> None:
    """An engine can end an attempt during the wait at once, and nothing is launched."""
    kept = {**AWAY, "record": "/nowhere/runs/20260101-000000-abc", "ends_within_s": 900.0}
    second = attempt(lab, remembered=kept, interrupt_after_s=1.0)
    assert second.wait_for("error") == "Interrupted"
    assert not lab.records()


@pytest.mark.parametrize("boot", ["same", "earlier"])
def test_run_without_a_record_on_this_host(lab: Lab, boot: str) -> None:
    """Processes of the run on this host are found by its marker; there is no endless wait."""
    kept, record = remembered(lab, **({} if boot == "same" else {"boot_id": "earlier"}))
    kept["record"] = str(Path("/nowhere") / Path(kept["record"]).name)
    kept["ends_within_s"] = 900.0
    second = attempt(lab, SAVES, number=2, state=lab.home / "elsewhere", remembered=kept)
    assert second.wait_for("origin") == "launched"
    until(lambda: record.state == "ended", "the first run to end")
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


@pytest.mark.parametrize(
    "value",
    [None, "run", {}, {"record": 1}, {**AWAY, "record": "/x"}]
    + [{**AWAY, "record": "/x", "ends_within_s": wrong} for wrong in (-1, "9", None, True, 1e99)],
)
def test_value_that_is_no_location(value: object) -> None:
    """A value of another kind in the engine's store is no location."""
    assert RunLocation.from_json(value) is None


def test_location_survives_json(lab: Lab) -> None:
    """A location survives JSON; the run of an attempt on this host is not elsewhere."""
    kept, _record = remembered(lab)
    found = RunLocation.from_json(kept)
    assert found is not None
    assert found.to_json() == kept
    assert found.place is RunPlace.HERE
    assert found.ends_within_s > 60.0
