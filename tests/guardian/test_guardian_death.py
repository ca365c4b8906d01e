"""A killed or frozen guardian, or one without its record, never leads to two trainings."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path
from types import FrameType

import pytest

from gpualert_common.errors import GuardianError, RecordError
from gpualert_common.guardian import Attempt, RunHandle, launch
from gpualert_common.guardian.keys import Key
from gpualert_common.record import Record
from gpualert_common.spec import RunSpec
from tests.guardian.faces import (
    IGNORES_TERM,
    SAVES,
    TRAINS,
    attempt,
    freeze,
    guardian_of,
    log_of,
    names,
    recorder_of,
    trainings,
    wait_for_event,
    wait_for_output,
    wait_for_renewals,
    wait_for_state,
)
from tests.supervised import DEADLINE_S, Lab, exit_of, is_alive, shell, until

pytestmark = pytest.mark.usefixtures("never_two")
NEXT_S = 60.0


def spec(lab: Lab, command: tuple[str, ...] = TRAINS) -> RunSpec:
    """Return a spec for the lab."""
    return RunSpec(command, cwd=str(lab.home), grace_s=3.0, state_dir=str(lab.state))


def launched(lab: Lab, command: tuple[str, ...] = TRAINS, adopt_within_s: float = 0.0) -> RunHandle:
    """Return a live run whose training has begun."""
    who = Attempt(("task",), lease_s=1.0, adopt_within_s=adopt_within_s)
    handle = RunHandle.launch(spec(lab, command), who)
    wait_for_output(handle.record, "started")
    return handle


def kill(pid: int) -> None:
    """Kill a process that is not our child; return when it is gone."""
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(pid), f"process {pid} to be gone")


# -- killed ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "saved"), [(SAVES, True), (IGNORES_TERM, False)], ids=["saves", "ignores TERM"]
)
def test_killed_under_a_live_attempt(lab: Lab, command: tuple[str, ...], saved: bool) -> None:
    """A training without its guardian is ended gracefully, and its status is unknown."""
    face = attempt(lab, command, grace_s=1.0, adopt_within_s=NEXT_S)
    face.wait_for_line("started")
    kill(guardian_of(face.record()))
    assert face.result() == (None, face.wait_for("disposition"))
    assert face.wait_for("disposition") not in ("completed", "failed")
    assert ("saved" in log_of(face.record())) == saved
    assert not trainings(lab.mark)
    assert face.record().state == "ended"
    assert lab.json("show")["verdict"]["exit_code"] is None


def test_time_out_of_the_engine_meanwhile(lab: Lab) -> None:
    """A time-out of the engine during the end of a lost run reaches the engine, also as an
    OSError."""

    class EngineTimeoutError(TimeoutError):
        pass

    def time_out(_number: int, _frame: FrameType | None) -> None:
        raise EngineTimeoutError

    before = signal.signal(signal.SIGALRM, time_out)
    try:
        with launched(lab, IGNORES_TERM) as handle:
            kill(guardian_of(handle.record))
            signal.setitimer(signal.ITIMER_REAL, 1.0)
            with pytest.raises(EngineTimeoutError):
                handle.wait(DEADLINE_S)
            assert handle.wait(DEADLINE_S).exit_code is None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_killed_after_the_training(lab: Lab) -> None:
    """A training that ended by itself without a guardian has no known status either."""
    with launched(lab) as handle:
        kill(guardian_of(handle.record))
        (lab.home / "go").touch()
        until(lambda: not trainings(lab.mark), "the training to end")
        result = handle.wait(DEADLINE_S)
    assert result.exit_code is None
    assert result.verdict is not None
    assert (result.verdict.disposition, result.verdict.cause) == ("unknown", "unknown")


def test_killed_with_its_attempt(lab: Lab) -> None:
    """If both are killed, the next attempt ends the live processes and launches a new training."""
    first = attempt(lab, SAVES, adopt_within_s=NEXT_S)
    first.wait_for_line("started")
    record = first.record()
    first.freeze()
    kill(guardian_of(record))
    first.kill()
    until(lambda: not record.is_held, "the recorder to end")
    assert record.state == "lost"
    assert trainings(lab.mark)
    second = attempt(lab, SAVES, number=2)
    assert "ending its live processes" in second.wait_for("message")
    second.wait_for_line("started")
    assert second.wait_for("origin") == "launched"
    assert "saved" in log_of(record)
    assert exit_of(record)["code"] is None
    assert record.read_json("verdict.json") is not None
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_killed_with_its_attempt_without_a_next_one(lab: Lab) -> None:
    """``recover`` leaves a live training alone, and gives a dead one the disposition unknown."""
    first = attempt(lab, adopt_within_s=NEXT_S)
    first.wait_for_line("started")
    record = first.record()
    first.freeze()
    kill(guardian_of(record))
    first.kill()
    until(lambda: not record.is_held, "the recorder to end")
    assert [row["outcome"] for row in lab.json("recover")["records"]] == ["running"]
    (lab.home / "go").touch()
    until(lambda: not trainings(lab.mark), "the training to end")
    assert [row["outcome"] for row in lab.json("recover")["records"]] == ["recovered"]
    assert exit_of(record)["code"] is None
    assert lab.json("show")["verdict"]["disposition"] == "unknown"
    second = attempt(lab, number=2)
    assert second.result() == (3, "failed")
    assert second.wait_for("origin") == "launched"


def test_stopped_by_a_person_without_a_guardian(lab: Lab) -> None:
    """``gpualert stop`` ends a training whose guardian and attempt were killed."""
    first = attempt(lab, SAVES, adopt_within_s=NEXT_S)
    first.wait_for_line("started")
    first.freeze()
    kill(guardian_of(first.record()))
    first.kill()
    until(lambda: not first.record().is_held, "the recorder to end")
    assert lab.gpualert("stop", first.record().run_id).returncode == 0
    assert not trainings(lab.mark)
    assert "saved" in log_of(first.record())


@pytest.mark.parametrize("times", [1, 2])
def test_recorder_is_killed(lab: Lab, times: int) -> None:
    """If the recorder is killed the guardian starts another; requests and leases go on."""
    first = attempt(lab, adopt_within_s=NEXT_S)
    first.wait_for_line("started")
    record = first.record()
    for _ in range(times):
        kill(recorder_of(record))
        until(lambda: is_alive(recorder_of(record)), "another recorder")
    second = attempt(lab, number=2)
    assert second.wait_for("origin") == "adopted"
    first.kill()
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")
    assert second.followed() == ["started", "done"]


# -- before the launch -----------------------------------------------------------------------


def test_attempt_exits_before_its_go(lab: Lab) -> None:
    """If the attempt exits before the launch, the guardian launches nothing and leaves nothing."""
    key = Key(("task",), str(lab.state))
    key.take()
    prepared = launch.start(spec(lab, shell("touch launched")), Attempt(("task",)), key)
    assert prepared.record.state == "starting"
    prepared.close()
    key.release()
    until(lambda: not is_alive(prepared.guardian_pid), "the guardian to end")
    assert not (lab.home / "launched").exists()
    assert lab.records() == []
    with launched(lab) as handle:  # the key still names the record that was taken back
        assert handle.origin == "launched"
        (lab.home / "go").touch()
        handle.wait()


def test_guardian_dies_before_the_launch(lab: Lab) -> None:
    """A guardian's death before the launch is an error of the attempt; the next one launches."""
    key = Key(("task",), str(lab.state))
    key.take()
    prepared = launch.start(spec(lab, shell("touch launched")), Attempt(("task",)), key)
    kill(prepared.guardian_pid)
    with pytest.raises(GuardianError, match="nothing was started"):
        prepared.go()
    prepared.close()
    key.release()
    assert prepared.record.state == "lost"
    with launched(lab) as handle:
        assert handle.origin == "launched"
        assert not (lab.home / "launched").exists()
        (lab.home / "go").touch()
        handle.wait()
    assert prepared.record.state == "ended"
    assert exit_of(prepared.record)["code"] is None


def test_attempt_is_killed_before_its_go(lab: Lab) -> None:
    """While a guardian waits for its go no other attempt decides; after the attempt's death it
    may."""
    key = Key(("task",), str(lab.state))
    key.take()
    prepared = launch.start(spec(lab, shell("touch launched")), Attempt(("task",)), key)
    second = attempt(lab)
    second.wait_for("ready")
    key.release()
    time.sleep(0.5)
    assert not second.all("origin")
    prepared.close()  # as the kernel does for a process that is killed
    second.wait_for_line("started")
    assert second.wait_for("origin") == "launched"
    assert not (lab.home / "launched").exists()


# -- frozen ----------------------------------------------------------------------------------


@pytest.mark.parametrize("helper_too", [False, True], ids=["alone", "with its helper"])
def test_frozen_past_the_lease(lab: Lab, helper_too: bool) -> None:
    """A guardian that was frozen for longer than the lease has missed nothing."""
    face = attempt(lab, lease_s=1.0)
    face.wait_for_line("started")
    frozen = [guardian_of(face.record())]
    frozen += [recorder_of(face.record())] if helper_too else []
    for pid in frozen:
        freeze(pid)
    wait_for_renewals(face.record(), 1.5)  # this time must not count
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)
    wait_for_renewals(face.record(), 0.5)  # the guardian samples the lease meanwhile
    assert names(face.record()) == ["launched"]
    (lab.home / "go").touch()
    assert face.result() == (3, "failed")


def test_frozen_while_attempts_change(lab: Lab) -> None:
    """An attempt waits for a frozen guardian, and adopts the run when it continues."""
    first = attempt(lab, adopt_within_s=NEXT_S)
    first.wait_for_line("started")
    guardian = guardian_of(first.record())
    recorder_of(first.record())  # without it the request would not be recorded
    freeze(guardian)
    first.kill()
    second = attempt(lab, number=2)
    # Events that the recorder read before the request wait for the guardian, too.
    until(lambda: first.record().event("request"), "the second attempt to ask")
    assert not second.all("origin")
    os.kill(guardian, signal.SIGCONT)
    assert second.wait_for("origin") == "adopted"
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_stop_while_frozen(lab: Lab) -> None:
    """A frozen guardian carries out a requested stop when it continues."""
    with launched(lab, SAVES) as handle:
        guardian = guardian_of(handle.record)
        freeze(guardian)
        handle.stop("the test wanted it")
        os.kill(guardian, signal.SIGCONT)
        result = handle.wait(DEADLINE_S)
    assert result.exit_code == 0
    assert result.verdict is not None
    assert result.verdict.disposition == "cancelled"


def test_recorder_is_frozen_at_the_end(lab: Lab) -> None:
    """A wait for a late record sleeps meanwhile, and then gets the right result."""
    with launched(lab) as handle:
        recorder = recorder_of(handle.record)
        freeze(recorder)
        (lab.home / "go").touch()
        guardian = guardian_of(handle.record)
        until(lambda: not is_alive(guardian), "the guardian to end")
        before = time.thread_time()
        with pytest.raises(TimeoutError):
            handle.wait(2.0)
        assert time.thread_time() - before < 1.0
        os.kill(recorder, signal.SIGCONT)
        assert handle.wait(DEADLINE_S).exit_code == 3


# -- robbed ----------------------------------------------------------------------------------


def remove(path: str) -> None:
    """Remove a record while others write into it."""

    def gone() -> bool:
        shutil.rmtree(path, ignore_errors=True)
        return not os.path.exists(path)

    until(gone, "the record to be gone")


def test_record_is_removed(lab: Lab) -> None:
    """If the record of a live run is removed, the next attempt ends that run and launches a new
    one."""
    first = attempt(lab, SAVES, adopt_within_s=NEXT_S)
    first.wait_for_line("started")
    path = first.wait_for("run")
    first.freeze()
    remove(path)
    second = attempt(lab, SAVES, number=2)
    assert second.wait_for("origin") == "launched"
    assert second.wait_for("run") != path
    second.wait_for_line("started")
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")
    first.thaw()
    first.wait()
    assert first.all("disposition") != ["completed"]


@pytest.mark.parametrize("stopped", [False, True])
def test_record_is_removed_under_its_attempt(lab: Lab, stopped: bool) -> None:
    """An attempt whose record was removed still follows and can stop its run."""
    with launched(lab, SAVES) as handle:
        remove(handle.record.path)
        if stopped:
            handle.stop("its record is gone")
        else:
            (lab.home / "go").touch()
        result = handle.wait(DEADLINE_S)
    assert result.exit_code == (0 if stopped else 3)
    assert result.verdict is not None
    # With its lease already gone and its directory not yet, the guardian may be quicker than we.
    assert result.verdict.disposition in (("cancelled", "preempted") if stopped else ("failed",))
    assert "started" in log_of(result.record)


FILES = {
    "not JSON": b"{",
    "nothing": b"",
    "no object": b"[1, 2]",
    "bytes": bytes(range(256)),
    "no kind": b'{"schema": 1}',
    "newer schema": b'{"schema": 99, "kind": "stop"}',
    "deep": b"[" * 100_000,
}
REQUESTS = {
    "unknown kind": b'{"schema": 1, "kind": "reboot"}',
    "kind of another kind": b'{"schema": 1, "kind": {"a": []}}',
    "adopt of nobody": b'{"schema": 1, "kind": "adopt"}',
    "handover by nobody": b'{"schema": 1, "kind": "handover"}',
    "handover by no text": b'{"schema": 1, "kind": "handover", "owner": null, "within_s": "x"}',
    "stop by a stranger": b'{"schema": 1, "kind": "stop", "owner": "somebody"}',
    "stop by no text": b'{"schema": 1, "kind": "stop", "owner": [1], "grace_s": NaN}',
}
NO_FILES = (
    *("directory", "full directory", "lease that is a directory"),
    *("fifo", "socket", "link", "link to a fifo"),
)


def litter(control: Path, name: str) -> None:
    """Put the object there in one step."""
    path = control / name.replace(" ", "-")
    match name:
        case "directory":
            path.mkdir()
        case "full directory":
            path.mkdir()
            (path / "file").touch()
        case "lease that is a directory":
            (control / ".lease-nobody").mkdir()
        case "fifo":
            os.mkfifo(path)
        case "link":
            path.symlink_to("/etc/passwd")
        case "link to a fifo":
            os.mkfifo(control.parent / "elsewhere")
            path.symlink_to("../elsewhere")
        case "socket":
            os.mknod(path, 0o600 | 0o140000)
        case _:
            hidden = control / f".{path.name}"
            hidden.write_bytes((FILES | REQUESTS)[name])
            hidden.rename(path)


@pytest.mark.parametrize(
    "kinds", [FILES, REQUESTS, NO_FILES], ids=["files", "requests", "no files"]
)
def test_rubbish_in_control(lab: Lab, kinds: tuple[str, ...] | dict[str, bytes]) -> None:
    """With any objects next to the requests, the run goes on and the next request is answered."""
    with launched(lab) as handle:
        control = Path(handle.record.path) / "control"
        for name in kinds:
            litter(control, name)
        second = attempt(lab, number=2)
        assert second.wait_for("origin") == "adopted"
        (lab.home / "go").touch()
        assert second.result() == (3, "failed")
    assert "stopping" not in names(handle.record)


def is_answered(record: Record, request: str) -> bool:
    """True when the guardian has received this request."""
    return any(
        (event.fields.get("request") or {}).get("file") == request for event in record.events()
    )


def test_directory_in_control_costs_no_descriptors(lab: Lab) -> None:
    """A directory in control costs no descriptors, however often it is checked."""
    with launched(lab) as handle:
        recorder = recorder_of(handle.record)
        (Path(handle.record.path) / "control" / "directory").mkdir()
        before = len(os.listdir(f"/proc/{recorder}/fd"))
        for number in range(8):
            name = handle.record.request(f"check-{number}")
            until(lambda: is_answered(handle.record, name), "an answer")  # noqa: B023
        assert len(os.listdir(f"/proc/{recorder}/fd")) <= before + 1
        (lab.home / "go").touch()
        handle.wait()


def test_key_is_damaged(lab: Lab) -> None:
    """With a damaged pointer of the key nothing is launched, since a run may be alive."""
    with launched(lab) as handle:
        (pointer,) = (lab.state / "keys").glob("*/run.json")
        whole = pointer.read_text()
        pointer.write_text('{"schema"')
        with pytest.raises(RecordError, match=r"run\.json"):
            RunHandle.launch(spec(lab), Attempt(("task",), number=2, lease_s=1.0))
        pointer.write_text(whole)
        assert json.loads(whole)["run"] == handle.record.path
        (lab.home / "go").touch()
        assert handle.wait().exit_code == 3
    assert wait_for_event(handle.record, "launched")
    assert Record.open(handle.record.path).state == "ended"
    wait_for_state(handle.record, "ended")
