"""``recover`` overrides no supervisor, no other host, and no existing record."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from gpualert_common import record_locations, recover
from gpualert_common.listing.lookup import find_record
from gpualert_common.model import RecoveryOutcome, RunPlace
from gpualert_common.record import Record
from gpualert_common.spec import Ending
from tests.supervised import Lab, exit_of, shell, until

WAITS = shell("echo ready; until [ -e go ]; do sleep 0.01; done; exit 1")


def lost(lab: Lab, *signals: int) -> Record:
    """Return the record of a run whose supervisor died after these signals and whose child
    ended."""
    run = lab.launch(*shell("trap '' USR1 TERM; echo ready; until [ -e go ]; do sleep 0.01; done"))
    run.wait_for_output(b"ready")
    for number in signals:
        run.signal(number)
        until(lambda: run.record.event("signal"), "the signal to be written down")
    run.signal(signal.SIGKILL)
    run.process.wait()
    (lab.home / "go").touch()
    until(lab.is_empty, "everything to end")
    return run.record


def edit_spec(record: Record, **changes: object) -> None:
    """Change the place in the launch record."""
    path = Path(record.path) / "spec.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"host": "another-host"}, RunPlace.OTHER_HOST),
        ({"pid_namespace": "pid:[1]"}, RunPlace.OTHER_CONTAINER),
    ],
    ids=["host", "container"],
)
def test_of_a_run_elsewhere(lab: Lab, changes: dict[str, object], place: RunPlace) -> None:
    """A run of another host or container is not touched, unless it is known to be gone."""
    record = lost(lab)
    edit_spec(record, **changes)
    assert recover.recover(record) is RecoveryOutcome.ELSEWHERE
    assert recover.locate(record.spec) is place
    assert record.read_json("exit.json") is None
    record.release_own_lock()
    assert lab.gpualert("stop", record.run_id).returncode == 2
    assert recover.recover(record, force=True) == "recovered"


def test_after_a_reboot(lab: Lab) -> None:
    """A run of an earlier boot of this host is over, even if its process numbers exist again."""
    record = lost(lab)
    edit_spec(record, boot_id="earlier", pid_namespace="pid:[1]")
    assert recover.recover(record) == "recovered"


def test_a_signal_that_stops_nothing_is_no_cancellation(lab: Lab) -> None:
    """SIGUSR1 before the supervisor's death does not make the run cancelled."""
    record = lost(lab, signal.SIGUSR1)
    assert recover.recover(record) == "recovered"
    assert exit_of(record)["signal"] is None


def test_a_stop_before_the_death_is_remembered(lab: Lab) -> None:
    """SIGTERM before the supervisor's death is the signal of the recovered ending."""
    record = lost(lab, signal.SIGTERM)
    assert recover.recover(record) == "recovered"
    assert exit_of(record)["signal"] == signal.SIGTERM


def test_an_ending_written_meanwhile_is_kept(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A status that a supervisor recorded just before its death is kept."""
    record = lost(lab)
    take = Record.take

    def take_late(self: Record) -> bool:
        ending = Ending(1.0, 2.0)
        ending.code = 7
        self.write_json("exit.json", {**ending.to_json(), "survivors": []})
        return take(self)

    monkeypatch.setattr(Record, "take", take_late)
    assert recover.recover(record) == "recovered"
    assert exit_of(record)["code"] == 7


def test_of_a_record_that_was_only_begun(lab: Lab) -> None:
    """A directory without a launch record is skipped, and the others are recovered."""
    (lab.state / "runs" / "20260101-000000-000000-0000").mkdir(parents=True, mode=0o700)
    answer = lab.json("recover")
    assert [row["outcome"] for row in answer["records"]] == ["not launched"]


def test_more_records_than_descriptors(lab: Lab) -> None:
    """Any number of records can be listed, and ``last`` is the last."""
    runs = lab.state / "runs"
    runs.mkdir(parents=True)
    for number in range(1200):
        (runs / f"20260101-000000-{number:06d}-0000").mkdir(mode=0o700)
    before = len(os.listdir("/proc/self/fd"))
    assert sum(1 for _record in record_locations.open_records([str(lab.state)])) == 1200
    assert len(os.listdir("/proc/self/fd")) == before
    assert find_record("last", [str(lab.state)]).run_id == "20260101-000000-001199-0000"


def test_an_unreadable_request_blocks_no_other(lab: Lab) -> None:
    """Other files in ``control/`` do not block requests to the supervisor."""
    run = lab.launch("sleep", "60")
    control = Path(run.record.path) / "control"
    (control / "000").mkdir(parents=True)
    (control / "001").write_text("{")
    assert lab.gpualert("stop", run.record.run_id).returncode == 0
    assert run.wait() == 128 + signal.SIGTERM
