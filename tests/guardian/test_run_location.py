"""Attempts whose engine remembers a run that their own state directory does not know."""

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
    """A run whose follower has died, and what was kept of it; with other values here and there."""
    first = attempt(lab, adopt_within_s=60.0)
    first.sees("started")
    record = first.record()
    kept = RunLocation.of(record).to_json()
    first.kill()
    return kept | changes, record


def test_run_in_another_state_directory_is_adopted(lab: Lab) -> None:
    """On the same host the path alone is enough to take a training over."""
    kept, record = remembered(lab)
    second = attempt(lab, number=2, state=lab.home / "elsewhere", remembered=kept)
    assert second.says("origin") == "adopted"
    assert second.record().path == record.path
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_unseen_run_of_another_host_is_waited_for(lab: Lab) -> None:
    """Nothing is launched before the host that cannot be seen has ended its training."""
    kept = {**AWAY, "record": "/nowhere/runs/20260101-000000-abc", "ends_within_s": 2.0}
    began = time.monotonic()
    second = attempt(lab, remembered=kept)
    assert second.says("origin") == "launched"
    assert time.monotonic() - began > 2.0
    assert any("host another-host cannot be seen from here" in text for text in second.all("told"))
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_wait_for_an_unseen_run_is_given_up(lab: Lab) -> None:
    """An engine that ends an attempt while it waits is obeyed at once, and nothing is launched."""
    kept = {**AWAY, "record": "/nowhere/runs/20260101-000000-abc", "ends_within_s": 900.0}
    second = attempt(lab, remembered=kept, interrupt_after_s=1.0)
    assert second.says("error") == "Interrupted"
    assert not lab.records()


@pytest.mark.parametrize("boot", ["same", "earlier"])
def test_run_without_a_record_on_this_host(lab: Lab, boot: str) -> None:
    """What is left of it here is found by its mark; nothing is waited for that cannot be."""
    kept, record = remembered(lab, **({} if boot == "same" else {"boot_id": "earlier"}))
    kept["record"] = str(Path("/nowhere") / Path(kept["record"]).name)
    kept["ends_within_s"] = 900.0
    second = attempt(lab, SAVES, number=2, state=lab.home / "elsewhere", remembered=kept)
    assert second.says("origin") == "launched"
    until(lambda: record.state == "ended", "the first run to end")
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


@pytest.mark.parametrize(
    "value",
    [None, "run", {}, {"record": 1}, {**AWAY, "record": "/x"}]
    + [{**AWAY, "record": "/x", "ends_within_s": wrong} for wrong in (-1, "9", None, True, 1e99)],
)
def test_what_is_no_whereabouts(value: object) -> None:
    """What a store gives back that was not put there is nothing."""
    assert RunLocation.from_json(value) is None


def test_whereabouts_there_and_back(lab: Lab) -> None:
    """As JSON they are what they were; the run of an attempt here is not elsewhere."""
    kept, _record = remembered(lab)
    found = RunLocation.from_json(kept)
    assert found is not None
    assert found.to_json() == kept
    assert found.place is RunPlace.HERE
    assert found.ends_within_s > 60.0
