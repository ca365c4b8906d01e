"""The guardian itself is killed, frozen, cut off or robbed of its record; its run is never two."""

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
    DEAF,
    SAVES,
    TRAINS,
    attempt,
    freeze,
    guardian_of,
    log_of,
    logs,
    names,
    outlives_lease,
    reaches,
    recorder_of,
    told,
    trainings,
)
from tests.supervised import DEADLINE_S, Lab, exit_of, is_alive, shell, until

pytestmark = pytest.mark.usefixtures("never_two")
NEXT_S = 60.0


def spec(lab: Lab, command: tuple[str, ...] = TRAINS) -> RunSpec:
    """A run in the lab."""
    return RunSpec(command, cwd=str(lab.home), grace_s=3.0, state_dir=str(lab.state))


def launched(lab: Lab, command: tuple[str, ...] = TRAINS, adopt_within_s: float = 0.0) -> RunHandle:
    """A live run whose training has begun."""
    who = Attempt(("task",), lease_s=1.0, adopt_within_s=adopt_within_s)
    handle = RunHandle.launch(spec(lab, command), who)
    logs(handle.record, "started")
    return handle


def kill(pid: int) -> None:
    """End a process that is not our child; returns when it is gone."""
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(pid), f"process {pid} to be gone")


# -- killed ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "saved"), [(SAVES, True), (DEAF, False)], ids=["saves", "ignores TERM"]
)
def test_killed_under_a_live_attempt(lab: Lab, command: tuple[str, ...], saved: bool) -> None:
    """Without its guardian a training is ended gracefully, and how it ended is not known."""
    face = attempt(lab, command, grace_s=1.0, adopt_within_s=NEXT_S)
    face.sees("started")
    kill(guardian_of(face.record()))
    assert face.result() == (None, face.says("disposition"))
    assert face.says("disposition") not in ("completed", "failed")
    assert ("saved" in log_of(face.record())) == saved
    assert not trainings(lab.mark)
    assert face.record().state == "ended"
    assert lab.json("show")["verdict"]["exit_code"] is None


def test_time_out_of_the_engine_meanwhile(lab: Lab) -> None:
    """A time-out, an OSError to Python, that lands in the ending of a lost run is the engine's."""

    class EngineTimeoutError(TimeoutError):
        pass

    def time_out(_number: int, _frame: FrameType | None) -> None:
        raise EngineTimeoutError

    before = signal.signal(signal.SIGALRM, time_out)
    try:
        with launched(lab, DEAF) as handle:
            kill(guardian_of(handle.record))
            signal.setitimer(signal.ITIMER_REAL, 1.0)
            with pytest.raises(EngineTimeoutError):
                handle.wait(DEADLINE_S)
            assert handle.wait(DEADLINE_S).exit_code is None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_killed_after_the_training(lab: Lab) -> None:
    """A training that ended by itself while it had no guardian has no known status either."""
    with launched(lab) as handle:
        kill(guardian_of(handle.record))
        (lab.home / "go").touch()
        until(lambda: not trainings(lab.mark), "the training to end")
        result = handle.wait(DEADLINE_S)
    assert result.exit_code is None
    assert result.verdict is not None
    assert result.verdict.disposition == "unknown"


def test_killed_with_its_attempt(lab: Lab) -> None:
    """When both are killed, the next attempt ends what lives, then trains anew."""
    first = attempt(lab, SAVES, adopt_within_s=NEXT_S)
    first.sees("started")
    record = first.record()
    first.freeze()
    kill(guardian_of(record))
    first.kill()
    until(lambda: not record.is_held, "the recorder to end")
    assert record.state == "lost"
    assert trainings(lab.mark)
    second = attempt(lab, SAVES, number=2)
    assert "ending its live processes" in second.says("told")
    second.sees("started")
    assert second.says("origin") == "launched"
    assert "saved" in log_of(record)
    assert exit_of(record)["code"] is None
    assert record.read_json("verdict.json") is not None
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_killed_with_its_attempt_and_nobody_comes(lab: Lab) -> None:
    """``recover`` leaves a training that lives alone, and says truthfully how a dead one ended."""
    first = attempt(lab, adopt_within_s=NEXT_S)
    first.sees("started")
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
    assert second.says("origin") == "launched"


def test_stopped_by_a_person_without_a_guardian(lab: Lab) -> None:
    """``gpualert stop`` ends a training whose guardian and attempt were killed."""
    first = attempt(lab, SAVES, adopt_within_s=NEXT_S)
    first.sees("started")
    first.freeze()
    kill(guardian_of(first.record()))
    first.kill()
    until(lambda: not first.record().is_held, "the recorder to end")
    assert lab.gpualert("stop", first.record().run_id).returncode == 0
    assert not trainings(lab.mark)
    assert "saved" in log_of(first.record())


@pytest.mark.parametrize("times", [1, 2])
def test_helper_is_killed(lab: Lab, times: int) -> None:
    """When its helper is killed the guardian gets another; requests and leases go on."""
    first = attempt(lab, adopt_within_s=NEXT_S)
    first.sees("started")
    record = first.record()
    for _ in range(times):
        kill(recorder_of(record))
        until(lambda: is_alive(recorder_of(record)), "another recorder")
    second = attempt(lab, number=2)
    assert second.says("origin") == "adopted"
    first.kill()
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")
    assert second.followed() == ["started", "done"]


# -- before the launch -----------------------------------------------------------------------


def test_attempt_goes_before_it_says_go(lab: Lab) -> None:
    """A guardian whose attempt goes away before the launch launches nothing and leaves nothing."""
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
    """An attempt whose guardian was killed before the launch is told so; the next one launches."""
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


def test_attempt_is_killed_before_it_says_go(lab: Lab) -> None:
    """While a guardian waits for its go nobody else decides; once the attempt is dead, they may."""
    key = Key(("task",), str(lab.state))
    key.take()
    prepared = launch.start(spec(lab, shell("touch launched")), Attempt(("task",)), key)
    second = attempt(lab)
    second.says("ready")
    key.release()
    time.sleep(0.5)
    assert not second.all("origin")
    prepared.close()  # as the kernel does for a process that is killed
    second.sees("started")
    assert second.says("origin") == "launched"
    assert not (lab.home / "launched").exists()


# -- frozen ----------------------------------------------------------------------------------


@pytest.mark.parametrize("helper_too", [False, True], ids=["alone", "with its helper"])
def test_frozen_past_the_lease(lab: Lab, helper_too: bool) -> None:
    """A guardian that stood still for longer than the lease has missed nothing."""
    face = attempt(lab, lease_s=1.0)
    face.sees("started")
    frozen = [guardian_of(face.record())]
    frozen += [recorder_of(face.record())] if helper_too else []
    for pid in frozen:
        freeze(pid)
    outlives_lease(face.record(), 1.5)  # this time must not count
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)
    outlives_lease(face.record(), 0.5)  # the guardian samples the lease meanwhile
    assert names(face.record()) == ["launched"]
    (lab.home / "go").touch()
    assert face.result() == (3, "failed")


def test_frozen_while_attempts_change(lab: Lab) -> None:
    """An attempt waits for a guardian that stands still, and adopts the run when it goes on."""
    first = attempt(lab, adopt_within_s=NEXT_S)
    first.sees("started")
    guardian = guardian_of(first.record())
    recorder_of(first.record())  # without which nobody would write down what is asked
    freeze(guardian)
    first.kill()
    second = attempt(lab, number=2)
    # What the recorder saw before it was asked waits for the guardian, too.
    until(lambda: first.record().event("request"), "the second attempt to ask")
    assert not second.all("origin")
    os.kill(guardian, signal.SIGCONT)
    assert second.says("origin") == "adopted"
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_frozen_while_it_is_told_to_stop(lab: Lab) -> None:
    """A stop that a frozen guardian was asked for is done when it goes on."""
    with launched(lab, SAVES) as handle:
        guardian = guardian_of(handle.record)
        freeze(guardian)
        handle.stop("the test wanted it")
        os.kill(guardian, signal.SIGCONT)
        result = handle.wait(DEADLINE_S)
    assert result.exit_code == 0
    assert result.verdict is not None
    assert result.verdict.disposition == "cancelled"


def test_helper_stands_still_at_the_end(lab: Lab) -> None:
    """Who waits for a record that is late sleeps meanwhile, and has the right result then."""
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
    """The record removed under a live run: the next attempt ends that run, then trains anew."""
    first = attempt(lab, SAVES, adopt_within_s=NEXT_S)
    first.sees("started")
    path = first.says("run")
    first.freeze()
    remove(path)
    second = attempt(lab, SAVES, number=2)
    assert second.says("origin") == "launched"
    assert second.says("run") != path
    second.sees("started")
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")
    first.thaw()
    first.wait()
    assert first.all("disposition") != ["completed"]


@pytest.mark.parametrize("stopped", [False, True])
def test_record_is_removed_under_its_attempt(lab: Lab, stopped: bool) -> None:
    """An attempt whose record was removed follows on, and can stop its run all the same."""
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
    """Put it there, all at once."""
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
    """Whatever is put beside the requests, the run goes on and the next request is answered."""
    with launched(lab) as handle:
        control = Path(handle.record.path) / "control"
        for name in kinds:
            litter(control, name)
        second = attempt(lab, number=2)
        assert second.says("origin") == "adopted"
        (lab.home / "go").touch()
        assert second.result() == (3, "failed")
    assert "stopping" not in names(handle.record)


def is_answered(record: Record, request: str) -> bool:
    """True when the guardian was handed this request."""
    return any((event.get("request") or {}).get("file") == request for event in record.events())


def test_directory_in_control_costs_no_descriptors(lab: Lab) -> None:
    """What cannot be taken out of the way is looked at again and again, at no cost."""
    with launched(lab) as handle:
        recorder = recorder_of(handle.record)
        (Path(handle.record.path) / "control" / "directory").mkdir()
        before = len(os.listdir(f"/proc/{recorder}/fd"))
        for number in range(8):
            name = handle.record.request(f"look-{number}")
            until(lambda: is_answered(handle.record, name), "another look")  # noqa: B023
        assert len(os.listdir(f"/proc/{recorder}/fd")) <= before + 1
        (lab.home / "go").touch()
        handle.wait()


def test_key_is_damaged(lab: Lab) -> None:
    """Where the key's pointer is damaged nobody knows what still lives, so nothing is launched."""
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
    assert told(handle.record, "launched")
    assert Record.open(handle.record.path).state == "ended"
    reaches(handle.record, "ended")
