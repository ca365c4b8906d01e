"""``gpualert run --detach``: the run outlives the shell that started it."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path

from gpualert_common.record import VERDICT, Record
from tests.guardian.faces import (
    SAVES,
    TRAINS,
    guardian_of,
    log_of,
    names,
    wait_for_output,
    wait_for_state,
)
from tests.supervised import (
    PROGRAM,
    Lab,
    exit_of,
    in_group_or_session,
    is_alive,
    shell,
    status_of,
    until,
)


def detach(lab: Lab, *command: str, options: tuple[str, ...] = ()) -> Record:
    """Detach a command, and return the record that the printed id names."""
    done = lab.gpualert("run", "--detach", *options, "--", *command)
    assert done.returncode == 0, done.stderr
    run_id, newline, rest = done.stdout.decode().partition("\n")
    assert (newline, rest) == ("\n", "")
    return Record.open(str(lab.state / "runs" / run_id))


def test_stdout_is_the_id(lab: Lab) -> None:
    """stdout is only the id; the place of the log and the command to follow it are on stderr."""
    done = lab.gpualert("run", "--detach", "--", *TRAINS)
    assert done.returncode == 0
    record = lab.record()
    assert done.stdout.decode() == f"{record.run_id}\n"
    assert f"gpualert follow {record.run_id}" in done.stderr.decode()
    assert record.log_path("output.log") in done.stderr.decode()
    (lab.home / "go").touch()
    wait_for_state(record, "ended")
    assert exit_of(record)["code"] == 3


def test_both_logs_are_named(lab: Lab) -> None:
    """With separate streams the places of both logs are on stderr."""
    done = lab.gpualert("run", "--detach", "--streams", "apart", "--", "true")
    logs = lab.record().log_paths
    assert [Path(path).name for path in logs] == ["stdout.log", "stderr.log"]
    assert all(path in done.stderr.decode() for path in logs)


def test_quiet(lab: Lab) -> None:
    """With --quiet the id is the only output."""
    done = lab.gpualert("run", "--detach", "--quiet", "--", "true")
    assert done.stdout.decode() == f"{lab.record().run_id}\n"
    assert done.stderr == b""


def test_outlives_its_shell(lab: Lab) -> None:
    """Guardian and training survive when the shell's session and group are killed."""
    words = shlex.join([*PROGRAM, "run", "--detach", "--", *TRAINS])
    script = f"{words} > id; echo ready; sleep 1000"
    parent = lab.start(("setsid", "bash", "-c", script), stdout=-1, stderr=-1)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"ready\n"
    run_id = (lab.home / "id").read_text().strip()
    record = Record.open(str(lab.state / "runs" / run_id))
    wait_for_output(record, "started")
    guardian = guardian_of(record)
    leader = record.leader_pid or 0
    group, session = (int(field) for field in status_of(parent.pid)[2:4])
    assert guardian not in in_group_or_session(session)
    os.killpg(group, signal.SIGKILL)
    for pid in in_group_or_session(session):
        os.kill(pid, signal.SIGKILL)
    parent.wait()
    until(lambda: not in_group_or_session(session), "the session to be gone")
    assert is_alive(guardian)
    assert is_alive(leader)
    (lab.home / "go").touch()
    wait_for_state(record, "ended")
    assert exit_of(record)["code"] == 3
    assert names(record) == ["launched"]
    until(lambda: not is_alive(guardian), "the guardian to end")


def test_hang_up(lab: Lab) -> None:
    """A hang-up of the terminal does not reach the run."""
    words = shlex.join([*PROGRAM, "run", "--detach", "--quiet", "--", *TRAINS])
    lab.call(("script", "-qec", words, "/dev/null"))  # its terminal is gone when it returns
    record = lab.record()
    wait_for_output(record, "started")
    (lab.home / "go").touch()
    wait_for_state(record, "ended")
    assert exit_of(record)["code"] == 3
    assert names(record) == ["launched"]


def test_follow(lab: Lab) -> None:
    """``follow`` shows the log of a detached run from its start to its end, and its status."""
    record = detach(lab, *TRAINS)
    follower = lab.start((*PROGRAM, "follow", record.run_id), stdout=-1, stderr=-1)
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"started\n"
    (lab.home / "go").touch()
    out, _err = follower.communicate(timeout=60)
    assert out == b"done\n"


def test_stop_show_and_list(lab: Lab) -> None:
    """A detached run is listed while it runs, stopped gracefully, and shown after its end."""
    record = detach(lab, *SAVES)
    wait_for_output(record, "started")
    (row,) = lab.json("runs")["runs"]
    assert (row["run_id"], row["state"]) == (record.run_id, "running")
    assert lab.gpualert("stop", record.run_id).returncode == 0
    assert "saved" in log_of(record)
    (row,) = lab.json("runs")["runs"]
    assert row["state"] == "ended"
    until(lambda: record.read_json(VERDICT), "its verdict, which comes after its end")
    shown = lab.json("show", record.run_id)
    assert shown["verdict"]["disposition"] == "cancelled"


def test_program_that_does_not_exist(lab: Lab) -> None:
    """A missing command is reported at once, by status and by name."""
    done = lab.gpualert("run", "--detach", "--", "no-such-program")
    assert done.returncode == 127
    assert b"no-such-program" in done.stderr
    assert done.stdout.decode() == f"{lab.record().run_id}\n"
    assert lab.record().state == "ended"


def test_program_that_may_not_be_executed(lab: Lab) -> None:
    """A file that is not executable gives status 126, as in a shell."""
    done = lab.gpualert("run", "--detach", "--", str(lab.script("plain", "text", 0o644)))
    assert done.returncode == 126


def test_no_durable_log(lab: Lab) -> None:
    """Without a place for the log the status is 125, and all places that were tried are named."""
    blocker = lab.home / "file"
    blocker.touch()
    places = {"GPUALERT_STATE_DIR": "a", "XDG_STATE_HOME": "b", "TMPDIR": "c"}
    env = {**os.environ, **{name: str(blocker / place) for name, place in places.items()}}
    done = lab.gpualert("run", "--detach", "--", "touch", "launched", env=env)
    assert done.returncode == 125
    assert done.stdout == b""
    for place in ("a", "b/gpualert", "c/gpualert-"):
        assert str(blocker / place) in done.stderr.decode()
    assert not (lab.home / "launched").exists()


def test_second_best_place(lab: Lab) -> None:
    """If the first place has no room, the place used instead is reported."""
    lab.state.write_text("no directory")
    done = lab.gpualert("run", "--detach", "--", "true")
    assert done.returncode == 0
    assert f"no log at {lab.state}: Not a directory" in done.stderr.decode()
    assert str(lab.home / "xdg-state") in done.stderr.decode()


def test_usage(lab: Lab) -> None:
    """A missing working directory is a usage error; nothing is launched."""
    done = lab.gpualert("run", "--detach", "--cwd", str(lab.home / "nowhere"), "--", "true")
    assert done.returncode == lab.gpualert("run", "--cwd", "/nowhere", "--", "true").returncode
    assert done.stdout == b""
    assert b"does not exist" in done.stderr
    assert lab.records() == []


def test_stdin_and_directory(lab: Lab) -> None:
    """The run has the shell's directory and environment, and an empty stdin."""
    done = lab.gpualert(
        "run",
        "--detach",
        "--",
        *shell('cat; pwd; echo "$CHOSEN"'),
        input=b"not for the run",
        env={**os.environ, "CHOSEN": "yes"},
    )
    assert done.returncode == 0
    wait_for_state(lab.record(), "ended")
    assert log_of(lab.record()) == f"{lab.home}\nyes\n"
