"""Runs whose supervisor was killed: the next command or run finishes them and sends their alert."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from gpualert_common import record_locations
from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.record import Record
from gpualert_common.record.marks import UNDELIVERED, UNFINISHED
from gpualert_common.spec import RunSpec
from tests.guardian.faces import guardian_of
from tests.notify.alerting import alerts, body, mails, script, states
from tests.supervised import PROGRAM, Lab, Supervised, exit_of, is_alive, python, until

FAILS = python(
    "import os, time\n"
    "print('ready', flush=True)\n"
    "while not os.path.exists('go'): time.sleep(0.01)\n"
    "raise FileNotFoundError(2, 'No such file or directory', '/data/train.bin')"
)
MAILBOX = ("--notify", "mailbox")
PROCESS = b"gpualert_common.background_recovery"


def orphan(lab: Lab, *options: str) -> Supervised:
    """Return a run whose supervisor was killed, and whose child goes on."""
    run = lab.launch(*FAILS, options=options or MAILBOX)
    run.wait_for_output(b"ready")
    run.signal(signal.SIGKILL)
    run.process.wait()
    until(lambda: not run.record.is_held, "the recorder to be gone")
    return run


def abandon(lab: Lab, *options: str) -> Record:
    """Return the record of a run whose supervisor was killed, and whose child then failed."""
    run = orphan(lab, *options)
    (lab.home / "go").touch()
    until(lab.is_empty, "everything to end")
    return run.record


def is_sent(lab: Lab) -> bool:
    """True once a mail has arrived, and nothing is left to do."""
    return bool(mails(lab)) and lab.is_empty()


def marked(lab: Lab) -> list[str]:
    """Return the records with a mark of any kind."""
    place = str(lab.state)
    return UNFINISHED.list_records(place) + UNDELIVERED.list_records(place)


def background_processes(lab: Lab) -> list[int]:
    """Return the processes that finish runs of this lab."""
    return [pid for pid, command in lab.living().items() if PROCESS.decode() in command]


def assert_finished(lab: Lab, record: Record) -> None:
    """Assert that one alert with the right verdict was sent, and that nothing is marked."""
    until(lambda: is_sent(lab), "the alert, and the end of its sender")
    (mail,) = mails(lab)
    assert record.run_id in body(mail)
    assert "/data/train.bin" in body(mail)
    assert exit_of(record)["code"] is None
    verdict = record.verdict
    assert verdict is not None
    assert (verdict.cause, verdict.exit_code) == ("file_not_found", None)
    assert marked(lab) == []


@pytest.mark.parametrize(
    "command",
    [("runs",), ("show", "last"), ("outbox", "list"), ("run", "--", "true")],
    ids=lambda command: command[0],
)
def test_next_command_sends_the_alert(lab: Lab, command: tuple[str, ...]) -> None:
    """The next command or run on the machine completes the record, and sends the alert once."""
    record = abandon(lab)
    assert mails(lab) == []
    assert lab.gpualert(*command).returncode == 0
    assert_finished(lab, record)
    assert lab.gpualert(*command).returncode == 0
    until(lab.is_empty, "the next command to end")
    assert len(mails(lab)) == 1


def test_live_run_sends_the_alert(lab: Lab) -> None:
    """A run finishes the abandoned ones when its own child has started, not at its end."""
    record = abandon(lab)
    (lab.home / "go").unlink()
    run = lab.launch(*FAILS)
    until(lambda: len(mails(lab)) == 1, "the alert of the abandoned run")
    assert run.process.poll() is None
    assert record.run_id in body(mails(lab)[0])
    (lab.home / "go").touch()
    run.wait()


def test_command_says_so(lab: Lab) -> None:
    """A command that reads names the run in one line on stderr; the next one has nothing to say."""
    record = abandon(lab)
    line = f"the supervisor of run {record.run_id} died; completing the record in the background"
    assert lab.gpualert("runs").stderr.decode().count(f"gpualert: {line}\n") == 1
    assert_finished(lab, record)
    assert lab.gpualert("runs").stderr == b""


def test_run_of_an_engine_sends_the_alert(lab: Lab) -> None:
    """The next task of an engine sends it, of whatever task it is."""
    record = abandon(lab)
    with RunHandle.launch(RunSpec(["true"], state_dir=str(lab.state)), Attempt(("other",))) as run:
        run.wait()
    assert_finished(lab, record)


def test_ten_commands_at_once(lab: Lab) -> None:
    """Of ten commands at once one process completes the record, and one alert is sent."""
    record = abandon(lab)
    commands = [("runs",)] * 5 + [("run", "--", "true")] * 5
    started = [lab.start((*PROGRAM, *command), stdout=-3, stderr=-3) for command in commands]
    assert [process.wait(60) for process in started] == [0] * 10
    assert_finished(lab, record)
    assert sum(event.name == "recovered" for event in record.events()) == 1


BROKEN = """
import os
from gpualert_common import background_recovery as program
def die(*arguments, **options):
    os.kill(os.getpid(), 9)
program.{step} = die
program.main()
"""


@pytest.mark.parametrize("step", ["recover", "reconcile", "dispatch"])
def test_recovery_is_killed(lab: Lab, step: str) -> None:
    """If the process that completes a record is killed at any step, the next one goes on."""
    record = abandon(lab)
    request = json.dumps({"places": [str(lab.state)], "sys_path": []}).encode()
    lab.call(python(BROKEN.format(step=step)), input=request)
    until(lab.is_empty, "the broken process to be gone")
    assert mails(lab) == []
    assert lab.gpualert("runs").returncode == 0
    assert_finished(lab, record)


def test_recovery_is_killed_while_the_alert_is_sent(lab: Lab) -> None:
    """If it is killed during the delivery, that goes on, and no second one begins."""
    code = "echo begun >> begun; until [ -e ok ]; do sleep 0.05; done; echo sent >> sent; cat >all"
    channel = script(lab.home / "channel", f"cd {lab.home}; {code}")
    record = abandon(lab, "--notify", f"command:{channel}")
    assert lab.gpualert("runs").returncode == 0
    until((lab.home / "begun").exists, "the delivery to begin")
    for pid in background_processes(lab):
        os.kill(pid, signal.SIGKILL)
    assert lab.gpualert("runs").returncode == 0
    (lab.home / "ok").touch()
    until(lab.is_empty, "the delivery to end")
    assert lab.gpualert("runs").returncode == 0
    until(lambda: not marked(lab) and lab.is_empty(), "nothing to be left to do")
    assert (lab.home / "sent").read_text() == "sent\n"
    assert set(states(record).values()) == {"sent"}


def test_live_processes_are_left_alone(lab: Lab) -> None:
    """While a child lives without its supervisor, no command touches its run; a later one does."""
    run = orphan(lab)
    for command in (("runs",), ("run", "--", "true")):
        done = lab.gpualert(*command)
        assert b"supervisor" not in done.stderr
        until(lambda: not background_processes(lab), "the look at the run to end")
    assert is_alive(run.leader)
    assert run.record.ending is None
    assert mails(lab) == []
    (lab.home / "go").touch()
    until(lab.is_empty, "everything to end")
    assert lab.gpualert("runs").returncode == 0
    assert_finished(lab, run.record)


def test_after_a_reboot(lab: Lab) -> None:
    """A run of an earlier boot of this host is finished, too."""
    record = abandon(lab)
    _edit_spec(record, boot_id="earlier", pid_namespace="pid:[1]")
    assert lab.gpualert("runs").returncode == 0
    assert_finished(lab, record)


@pytest.mark.parametrize("changes", [{"host": "another-host"}, {"pid_namespace": "pid:[1]"}])
def test_run_elsewhere(lab: Lab, changes: dict[str, str]) -> None:
    """A run of another host or container is left alone: it may live."""
    record = abandon(lab)
    _edit_spec(record, **changes)
    for command in (("runs",), ("run", "--", "true")):
        assert b"supervisor" not in lab.gpualert(*command).stderr
        until(lab.is_empty, "the look at the run to end")
    assert record.ending is None
    assert UNFINISHED.list_records(str(lab.state)) == [record.path]


def test_slurm_is_asked_in_the_background(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command does not wait for Slurm's answer about a run of another machine."""
    record = abandon(lab)
    _edit_spec(record, host="another-host", slurm={"job": "7", "node": "node1"})
    at = int(record.spec.created_at)
    for file in Path(record.path).iterdir():
        os.utime(file, (at - 3600, at - 3600))
    programs = lab.home / "programs"
    programs.mkdir()
    answer = f"7|TIMEOUT|0:0|{at - 7200}|{at}|60||node1"
    asker = f"tr '\\0' ' ' < /proc/$PPID/cmdline >> {lab.home}/askers; echo >> {lab.home}/askers"
    for name, said in (("sacct", answer), ("squeue", "")):
        (programs / name).write_text(f"#!/bin/sh\n{asker}\necho '{said}'\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    assert lab.gpualert("runs").stderr == b""
    until(lambda: record.ending is not None and lab.is_empty(), "Slurm to prove the end")
    askers = (lab.home / "askers").read_text().splitlines()
    assert askers
    assert all(PROCESS.decode() in asker for asker in askers)


def _edit_spec(record: Record, **changes: object) -> None:
    path = Path(record.path) / "spec.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_other_state_directory(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command with another state directory does not touch the run; one with its own does."""
    record = abandon(lab)
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(lab.home / "other"))
    for command in (("runs",), ("run", "--", "true")):
        assert lab.gpualert(*command).returncode == 0
    until(lab.is_empty, "everything to end")
    assert record.ending is None
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(lab.state))
    assert lab.gpualert("runs").returncode == 0
    assert_finished(lab, record)


def test_run_that_fell_back(lab: Lab) -> None:
    """An abandoned run in a directory that stands in for the one in force is found, too."""
    _chosen, stand_in, *_ = record_locations.list_state_dirs(str(lab.state))
    lab.state.write_text("no directory")
    (lab.home / "go").touch()
    child = python("import os, signal; os.kill(os.getppid(), signal.SIGKILL); 1 / 0")
    lab.gpualert("run", *MAILBOX, "--", *child)
    until(lab.is_empty, "everything to end")
    lab.state.unlink()
    assert lab.run("true").returncode == 0
    until(lambda: list(Path(stand_in).glob("mailbox/new/*")), "the alert")


@pytest.mark.parametrize("code", [0, 3])
def test_finished_run_is_not_marked(lab: Lab, code: int) -> None:
    """A run is marked from its launch until its record is complete and its alert is sent."""
    run = lab.launch(*python(f"input('x'); raise SystemExit({code})"), options=MAILBOX, stdin=-1)
    assert UNFINISHED.list_records(str(lab.state)) == [run.record.path]
    assert run.process.stdin is not None
    run.process.stdin.write(b"\n")
    run.process.stdin.close()
    assert run.wait() == code
    until(lab.is_empty, "everything to end")
    assert marked(lab) == []
    assert len(mails(lab)) == (code != 0)


def test_removed_record(lab: Lab) -> None:
    """The mark of a record that was removed is removed by the next command."""
    UNFINISHED.add(str(lab.state / "runs" / "gone"))
    assert lab.run("true").returncode == 0
    assert lab.gpualert("runs").stderr == b""
    assert marked(lab) == []


# -- runs of engines -------------------------------------------------------------------------


def _abandon_task(lab: Lab, *, is_last: bool) -> Record:
    """Return the record of an engine's run whose guardian and attempt died, and then its child."""
    spec = RunSpec(FAILS, cwd=str(lab.home), state_dir=str(lab.state), alerts=alerts())
    who = Attempt(("task",), adopt_within_s=600.0, is_last=is_last)
    with RunHandle.launch(spec, who) as handle:
        until(lambda: lab.has_output(b"ready"), "the training to begin")
        pid = guardian_of(handle.record)
        os.kill(pid, signal.SIGKILL)
        until(lambda: not is_alive(pid), "the guardian to be gone")
    (lab.home / "go").touch()
    until(lab.is_empty, "everything to end")
    return Record.open(handle.record.path)


def test_last_attempt_of_a_task(lab: Lab) -> None:
    """The alert of a task's last attempt is sent, after the time for the task's own outcome."""
    record = _abandon_task(lab, is_last=True)
    assert lab.gpualert("runs").returncode == 0
    assert_finished(lab, record)


def test_task_with_another_attempt(lab: Lab) -> None:
    """The alert of a run that another attempt may follow is held, and superseded by that."""
    record = _abandon_task(lab, is_last=False)
    assert lab.gpualert("runs").returncode == 0
    until(lambda: states(record) == {"mailbox": "held"} and lab.is_empty(), "the alert to be held")
    assert lab.gpualert("runs").returncode == 0
    until(lab.is_empty, "the look at the alert to end")
    spec = RunSpec(FAILS, cwd=str(lab.home), state_dir=str(lab.state))
    with RunHandle.launch(spec, Attempt(("task",), number=2)) as second:
        assert second.origin == "launched"
        assert second.wait().exit_code == 1
    until(lab.is_empty, "everything to end")
    assert mails(lab) == []
    assert states(record) == {"mailbox": "superseded"}
    assert marked(lab) == []
