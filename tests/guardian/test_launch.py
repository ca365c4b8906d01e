"""Launch of a run: what is followed, what is returned, and what stays off the disk."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpualert_common.errors import GuardianError, NoDurableLogError, UsageError
from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.processes.procfs import read_descriptor
from gpualert_common.record import Record
from gpualert_common.spec import RunSpec
from tests.guardian.faces import (
    IGNORES_TERM,
    SAVES,
    TRAINS,
    guardian_of,
    log_of,
    names,
    wait_for_output,
    wait_for_state,
)
from tests.supervised import DEADLINE_S, Lab, is_alive, python, shell, status_of, until


def spec(
    lab: Lab,
    command: tuple[str, ...] = TRAINS,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = "",
    timeout_s: float | None = None,
) -> RunSpec:
    """Return a spec for the lab, with a short grace."""
    cwd = str(lab.home) if cwd == "" else cwd
    state_dir = str(lab.state)
    return RunSpec(command, cwd=cwd, env=env, timeout_s=timeout_s, grace_s=3.0, state_dir=state_dir)


def attempt(number: int = 1, adopt_within_s: float = 0.0, key: str = "task") -> Attempt:
    """Return an attempt with a short lease."""
    return Attempt((key,), number=number, adopt_within_s=adopt_within_s, lease_s=1.0)


def unclaimed(lab: Lab, command: tuple[str, ...] = TRAINS) -> Record:
    """Return the record of a run that ended after its attempt had closed it."""
    with RunHandle.launch(spec(lab, command), attempt(adopt_within_s=60.0)) as handle:
        wait_for_output(handle.record, "started")
    (lab.home / "go").touch()
    wait_for_state(handle.record, "ended")
    until(lambda: not handle.record.is_held, "the guardian to end")
    (lab.home / "go").unlink()
    return handle.record


# -- an end of every kind --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "status", "disposition"),
    [
        ("exit 0", 0, "completed"),
        ("exit 3", 3, "failed"),
        ("kill -9 $$", -9, "killed"),
        ("kill -11 $$", -11, "failed"),
    ],
)
@pytest.mark.parametrize("with_attempt", [True, False], ids=["attempt", "nobody's"])
def test_status(lab: Lab, code: str, status: int, disposition: str, with_attempt: bool) -> None:
    """The status is the child's own, the log is complete, and the record agrees."""
    attempt_given = attempt() if with_attempt else None
    with RunHandle.launch(
        spec(lab, shell(f"echo one; echo two >&2; {code}")), attempt_given
    ) as handle:
        assert handle.origin == "launched"
        followed = [line for lines in handle.follow() for line in lines]
        result = handle.wait()
    assert followed == ["one", "two"]
    assert result.exit_code == status
    assert result.verdict is not None
    assert result.verdict.disposition == disposition
    assert Path(result.log_path).read_bytes() == b"one\ntwo\n"
    assert result.record.state == "ended"


def test_quick_and_long_silence(lab: Lab) -> None:
    """Following returns regularly while there is no new line."""
    with RunHandle.launch(spec(lab), attempt()) as handle:
        following = handle.follow()
        first_lines = [next(following) for _ in range(4)]
        assert [] in first_lines
        with pytest.raises(TimeoutError):
            handle.wait(0.1)
        (lab.home / "go").touch()
        followed = [line for lines in [*first_lines, *following] for line in lines]
        assert followed == ["started", "done"]
        assert handle.wait().exit_code == 3


def test_pipe_in_place_of_the_log(lab: Lab) -> None:
    """A run whose log was replaced by a named pipe is followed to its end."""
    with RunHandle.launch(spec(lab), attempt()) as handle:
        log = Path(handle.record.path, "output.log")
        until(log.read_bytes, "the first line")
        log.unlink()
        os.mkfifo(log)
        following = handle.follow()
        assert next(following) == []
        (lab.home / "go").touch()
        assert [line for lines in following for line in lines] == []
        assert handle.wait().exit_code == 3


def test_two_streams(lab: Lab) -> None:
    """If the streams are apart, both are followed."""
    asked = spec(lab, shell("echo out; echo err >&2"))
    asked.streams = "apart"
    with RunHandle.launch(asked, attempt()) as handle:
        assert sorted(line for lines in handle.follow() for line in lines) == ["err", "out"]
        assert handle.wait().log_path.endswith("stderr.log")


def test_time_limit(lab: Lab) -> None:
    """The time limit ends the run, with status 124."""
    with RunHandle.launch(spec(lab, SAVES, timeout_s=0.5), attempt()) as handle:
        result = handle.wait(DEADLINE_S)
    assert result.exit_code == 124
    assert result.verdict is not None
    assert result.verdict.disposition == "timeout"
    assert "saved" in log_of(result.record)


def test_program_that_does_not_exist(lab: Lab) -> None:
    """A missing program gives status 127, and the reason is in the log."""
    with RunHandle.launch(spec(lab, ("no-such-program",)), attempt()) as handle:
        result = handle.wait()
    assert result.exit_code == 127
    assert result.verdict is not None
    assert result.verdict.disposition == "not_started"
    assert "no-such-program" in log_of(result.record)


# -- nothing was launched --------------------------------------------------------------------


def test_missing_directory(lab: Lab) -> None:
    """A missing working directory is the caller's error; nothing is left behind."""
    with pytest.raises(UsageError, match="does not exist"):
        RunHandle.launch(spec(lab, cwd=str(lab.home / "nowhere")), attempt())
    assert lab.records() == []
    until(lab.is_empty, "the guardian to be gone")


@pytest.mark.parametrize("with_attempt", [True, False], ids=["attempt", "nobody's"])
def test_no_durable_log(lab: Lab, monkeypatch: pytest.MonkeyPatch, with_attempt: bool) -> None:
    """Without any place for a log nothing is launched, and the error names all places tried."""
    blocker = lab.home / "file"
    blocker.touch()
    asked = spec(lab, shell("touch launched"))
    asked.state_dir = str(blocker / "a")
    monkeypatch.setenv("XDG_STATE_HOME", str(blocker / "b"))
    monkeypatch.setenv("TMPDIR", str(blocker / "c"))
    with pytest.raises(NoDurableLogError) as caught:
        RunHandle.launch(asked, attempt() if with_attempt else None)
    assert [Path(place).parts[-2:][0] for place, _problem in caught.value.tried][1:] == ["b", "c"]
    assert {problem for _place, problem in caught.value.tried} == {"Not a directory"}
    until(lab.is_empty, "the guardian to be gone")
    assert not (lab.home / "launched").exists()


def test_second_best_place(lab: Lab) -> None:
    """If the first place has no room, the second is used, reported, and found again."""
    lab.state.write_text("no directory")
    with RunHandle.launch(spec(lab), attempt()) as handle:
        assert handle.tried == [(str(lab.state), "Not a directory")]
        assert str(lab.home / "xdg-state") in handle.record.path
        with RunHandle.launch(spec(lab), attempt(2)) as second:
            assert (second.origin, second.run_id) == ("adopted", handle.run_id)
            (lab.home / "go").touch()
            assert second.wait().exit_code == 3


@pytest.mark.parametrize(
    "program", ["/bin/false", "/nonexistent/python"], ids=["that fails", "that is missing"]
)
def test_broken_interpreter(lab: Lab, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """An interpreter that cannot start a guardian is an error; nothing is launched."""
    monkeypatch.setattr("sys.executable", program)
    with pytest.raises(GuardianError, match="nothing was launched"):
        RunHandle.launch(spec(lab, shell("touch launched")), attempt())
    assert lab.records() == []
    assert not (lab.home / "launched").exists()


def test_interpreter_with_a_broken_environment(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that break Python affect the training, not the guardian."""
    (lab.home / "json.py").write_text("raise SystemExit('not this one')")
    monkeypatch.setenv("PYTHONHOME", "/nonexistent")
    monkeypatch.setenv("PYTHONPATH", str(lab.home))
    monkeypatch.setenv("PYTHONSTARTUP", "/nonexistent")
    with RunHandle.launch(spec(lab, shell('test "$PYTHONHOME" = /nonexistent')), attempt()) as run:
        assert run.wait().exit_code == 0


# -- environment of the child ----------------------------------------------------------------

SECRET = "s3cret-of-nobody"


def test_values_of_variables_stay_off_the_disk(lab: Lab) -> None:
    """The child gets exactly the given environment, and no file contains a value of it."""
    env = {"PATH": os.environ["PATH"], "API_TOKEN": SECRET, lab.mark: "1"}
    proves = 'test "$API_TOKEN" = "$(printf %s-of-%s s3cret nobody)" && echo got it'
    child = shell(f"{proves}; {TRAINS[2]}")
    with RunHandle.launch(spec(lab, child, env=env), attempt(adopt_within_s=60.0)) as handle:
        wait_for_output(handle.record, "got it")
        environment = Path(f"/proc/{guardian_of(handle.record)}/environ").read_bytes()
        assert SECRET.encode() not in environment
        with RunHandle.launch(spec(lab, child, env=env), attempt(2)) as second:
            assert second.origin == "adopted"
            (lab.home / "go").touch()
            assert second.wait().exit_code == 3
    found = [
        path
        for folder in (lab.state, lab.home / "tmp", lab.home / "xdg-state")
        for path in folder.rglob("*")
        if path.is_file() and SECRET.encode() in path.read_bytes()
    ]
    assert found == []
    assert "API_TOKEN" in (Path(handle.record.path) / "spec.json").read_text()


def test_environment_of_the_caller(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a given environment the child has the caller's, as of the launch."""
    monkeypatch.setenv("CHOSEN", "at the launch")
    with RunHandle.launch(spec(lab, shell('echo "$CHOSEN"')), attempt()) as handle:
        handle.wait()
    assert log_of(handle.record) == "at the launch\n"


def test_child_without_ties(lab: Lab) -> None:
    """The child's stdin is empty, it inherits no descriptor, and it has the requested directory."""
    code = "import os; print(sorted(os.listdir('/proc/self/fd'))[:-1], os.getcwd(), input)"
    with RunHandle.launch(spec(lab, python(code)), attempt()) as handle:
        handle.wait()
    assert log_of(handle.record).startswith(f"['0', '1', '2'] {lab.home} ")


def test_guardian_is_detached(lab: Lab) -> None:
    """The guardian has neither our session nor our group, and holds none of our descriptors."""
    with RunHandle.launch(spec(lab), attempt()) as handle:
        guardian = guardian_of(handle.record)
        _state, parent, group, session = status_of(guardian)[:4]
        assert int(parent) != os.getpid()
        assert os.getpgrp() != int(group)
        assert os.getsid(0) != int(session)
        until(
            lambda: os.readlink(f"/proc/{guardian}/fd/2").endswith("guardian.log"),
            "the guardian to let go of our pipes",
        )
        numbers = [entry.name for entry in Path(f"/proc/{guardian}/fd").iterdir()]
        targets = [read_descriptor(int(guardian), int(number)) for number in numbers]
        assert os.readlink(f"/proc/{guardian}/cwd") == "/"
        assert not [target for target in targets if "/keys/" in target]
        (lab.home / "go").touch()
        handle.wait()
    until(lambda: not is_alive(guardian), "the guardian to end")


# -- the run before this one -----------------------------------------------------------------


@pytest.mark.usefixtures("never_two")
def test_claimed_result_is_never_used_again(lab: Lab) -> None:
    """A claimed result belongs to its attempt: the next attempt launches a new training."""
    (lab.home / "go").touch()
    for number in (1, 1, 2):
        with RunHandle.launch(spec(lab), attempt(number)) as handle:
            assert handle.origin == "launched"
            assert handle.wait().exit_code == 3
            assert handle.wait().exit_code == 3
    assert len(lab.records()) == 3


@pytest.mark.usefixtures("never_two")
def test_unclaimed_result_is_claimed_once(lab: Lab) -> None:
    """An unclaimed result goes to the next attempt, with the whole log, and only once."""
    record = unclaimed(lab)
    with RunHandle.launch(spec(lab), attempt(2)) as second:
        assert (second.origin, second.run_id) == ("claimed", record.run_id)
        assert [line for lines in second.follow() for line in lines] == ["started", "done"]
        assert second.wait().exit_code == 3
        second.stop("it is too late")
        assert second.wait().verdict == second.wait().verdict
    (lab.home / "go").touch()
    with RunHandle.launch(spec(lab), attempt(3)) as third:
        assert third.origin == "launched"
        assert third.run_id != record.run_id
        assert third.wait().exit_code == 3


def test_unclaimed_result_of_another_command(lab: Lab) -> None:
    """The result of another command is not used."""
    unclaimed(lab)
    with RunHandle.launch(spec(lab, shell("exit 4")), attempt(2)) as second:
        assert second.origin == "launched"
        assert second.wait().exit_code == 4


@pytest.mark.usefixtures("never_two")
@pytest.mark.parametrize("other", ["command", "variable", "directory"])
def test_live_run_of_another_spec(lab: Lab, other: str) -> None:
    """A live run of another command, environment or directory is ended first, gracefully."""
    (lab.home / "else").mkdir()
    variant = {
        "command": spec(lab, shell("true")),
        "variable": spec(lab, env={**os.environ, "ONE_MORE": "1"}),
        "directory": spec(lab, cwd=str(lab.home / "else")),
    }[other]
    messages: list[str] = []
    with RunHandle.launch(spec(lab, SAVES if other == "command" else TRAINS), attempt()) as first:
        wait_for_output(first.record, "started")
        for folder in (lab.home, lab.home / "else"):
            (folder / "go").unlink(missing_ok=True)
        with RunHandle.launch(variant, attempt(2), log=messages.append) as second:
            assert second.origin == "launched"
            (lab.home / "go").touch()
            (lab.home / "else" / "go").touch()
            second.wait()
        result = first.wait()
        assert result.verdict is not None
        assert result.verdict.disposition == "cancelled"
    assert any("another command" in text for text in messages)
    assert ("saved" in log_of(first.record)) == (other == "command")


def test_attempt_that_may_not_take_over(lab: Lab) -> None:
    """An attempt with a lower number than the follower's is refused; nothing changes."""
    with RunHandle.launch(spec(lab), attempt(2)) as handle:
        messages: list[str] = []
        with pytest.raises(GuardianError, match="belongs to a later attempt"):
            RunHandle.launch(spec(lab), attempt(1), log=messages.append)
        assert any("waiting" in text for text in messages)
        (lab.home / "go").touch()
        assert handle.wait().exit_code == 3
    assert names(handle.record) == ["launched"]
    assert len(lab.records()) == 1


def test_separate_tasks(lab: Lab) -> None:
    """Runs of different tasks are independent."""
    with (
        RunHandle.launch(spec(lab), attempt(key="a")) as one,
        RunHandle.launch(spec(lab), attempt(key="b")) as two,
    ):
        assert one.run_id != two.run_id
        (lab.home / "go").touch()
        assert (one.wait().exit_code, two.wait().exit_code) == (3, 3)


def test_pointer_that_leads_nowhere(lab: Lab) -> None:
    """A record that was removed after its end does not block the next attempt."""
    shutil.rmtree(unclaimed(lab).path)
    (lab.home / "go").touch()
    with RunHandle.launch(spec(lab), attempt(2)) as handle:
        assert handle.origin == "launched"
        assert handle.wait().exit_code == 3


def test_pointer_to_another_directory(lab: Lab) -> None:
    """Nothing is written into a directory without a record that a damaged pointer names."""
    unclaimed(lab)
    other = lab.home / "other"
    other.mkdir(0o700)
    (pointer,) = lab.state.glob("keys/*/run.json")
    pointer.write_text(json.dumps({"schema": 1, "run": str(other)}))
    (lab.home / "go").touch()
    with RunHandle.launch(spec(lab), attempt(2)) as handle:
        assert handle.origin == "launched"
        handle.wait()
    assert not list(other.iterdir())


def test_outcome(lab: Lab) -> None:
    """The outcome of the task is written to the record of its run."""
    with RunHandle.launch(spec(lab, IGNORES_TERM), attempt()) as handle:
        (lab.home / "go").touch()
        handle.wait()
        handle.record_outcome("success", final=True)
    outcome = handle.record.read_json("outcome.json")
    assert outcome is not None
    assert (outcome["state"], outcome["final"], outcome["number"]) == ("success", True, 1)


def test_observer_of_a_run(lab: Lab) -> None:
    """An observer sees the whole log, owns nothing, and can stop the run as a person can."""
    with RunHandle.launch(spec(lab, SAVES), attempt()) as handle:
        with RunHandle.attach(handle.run_id, str(lab.state)) as watcher:
            assert watcher.origin == "attached"
            wait_for_output(watcher.record, "started")
            watcher.stop("somebody checked the loss")
            followed = [line for lines in watcher.follow() for line in lines]
            assert {"started", "saved"} <= set(followed)
            assert watcher.wait().exit_code == 0
        result = handle.wait()
        assert result.verdict is not None
        assert result.verdict.disposition == "cancelled"
        assert any("somebody checked the loss" in one.claim for one in result.verdict.shows)
