"""After SIGKILL to the supervisor the training ends by itself, with an unknown status."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import time

import pytest

from gpualert_common.record import Record
from tests.supervised import PROGRAM, Lab, Supervised, exit_of, python, shell, until

STEPS = 60
COUNTER = python(
    "import sys, time\n"
    f"for step in range({STEPS}):\n"
    "    print('step', step)\n"
    "    time.sleep(0.025)\n"
)
WHOLE_LOG = b"".join(b"step %d\n" % step for step in range(STEPS))
WAITS = shell("echo ready; until [ -e go ]; do sleep 0.01; done; echo done; exit 3")


def kill(run: Supervised) -> None:
    """Kill the supervisor with SIGKILL."""
    run.signal(signal.SIGKILL)
    run.process.wait()


def ours(lab: Lab) -> list[int]:
    """Return the live processes of the program."""
    return [pid for pid, command in lab.living().items() if "gpualert_common" in command]


@pytest.fixture
def orphaned(lab: Lab) -> Supervised:
    """A run whose child waits for the file ``go`` and whose supervisor is dead."""
    run = lab.launch(*WAITS)
    run.wait_for_output(b"ready")
    kill(run)
    until(lambda: not ours(lab), "the recorder to end with its supervisor")
    return run


def end_child(lab: Lab) -> None:
    """Let the child of an orphaned run end."""
    (lab.home / "go").touch()
    until(lab.is_empty, "the child to end by itself")


@pytest.mark.parametrize("rounds", [1, pytest.param(5, marks=pytest.mark.e2e)])
def test_killed_at_random_moments(lab: Lab, rounds: int) -> None:
    """With the supervisor killed at any moment, the training ends with its whole log.

    The record never says success; ``recover`` completes it, and what is left unknown is unknown.
    """
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _round in range(rounds):
        kill_ten(lab, sorted(chance.uniform(0, 1.5) for _moment in range(10)))
        until(lab.is_empty, "every training to end by itself")
    for path in lab.records():
        log = (path / "output.log").read_bytes()
        state = Record.open(str(path)).state
        assert (state, log) in itertools.product(("lost", "ended"), (WHOLE_LOG, b""))
    lab.json("recover")
    for row in lab.json("runs")["runs"]:
        assert row["state"] == "ended"
        assert row["exit_code"] in (None, 0)
        verdict = lab.json("show", row["run_id"])["verdict"]
        assert verdict["run_id"] == row["run_id"]
        if row["exit_code"] is None:
            assert verdict["disposition"] != "completed"


def kill_ten(lab: Lab, moments: list[float]) -> None:
    """Start a run for each moment, in seconds, and kill its supervisor at that moment."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    before = len(lab.records())
    started = [lab.start((*PROGRAM, "run", "-q", "--", *COUNTER), **quiet) for _ in moments]
    until(lambda: len(lab.records()) == before + len(moments), "every run to have its record")
    begin = time.monotonic()
    for process, moment in zip(started, moments, strict=True):
        time.sleep(max(0.0, begin + moment - time.monotonic()))
        process.kill()
        process.wait()


def test_log_continues_without_the_supervisor(lab: Lab, orphaned: Supervised) -> None:
    """Output of the child after the supervisor's death is in the log."""
    end_child(lab)
    assert orphaned.log() == b"ready\ndone\n"


def test_child_can_still_read_and_write(lab: Lab) -> None:
    """No pipe of ours breaks: the child writes a lot and ends with its own status."""
    code = "until [ -e go ]; do sleep 0.01; done; seq 100000; echo >&2 x; echo $? > status"
    run = lab.launch(*shell(code))
    kill(run)
    end_child(lab)
    assert (lab.home / "status").read_text() == "0\n"
    assert run.log().endswith(b"100000\nx\n")


def test_only_the_child_is_left(lab: Lab, orphaned: Supervised) -> None:
    """Only the child outlives the supervisor."""
    assert orphaned.leader in lab.living()
    assert not ours(lab)


def test_orphaned_run_is_lost(lab: Lab, orphaned: Supervised) -> None:
    """``runs`` and ``show`` list the run as lost, without a status, while its child goes on."""
    (row,) = lab.json("runs")["runs"]
    assert (row["state"], row["exit_code"], row["disposition"]) == ("lost", None, None)
    page = " ".join(lab.gpualert("show").stdout.decode().split())
    assert "its supervisor died, the run continues without it" in page
    assert f"gpualert stop {orphaned.record.run_id}" in page


def test_recover_while_it_still_runs(lab: Lab, orphaned: Supervised) -> None:
    """``recover`` of a live run reports that and changes nothing."""
    before = sorted(os.listdir(orphaned.record.path))
    (row,) = lab.json("recover")["records"]
    assert row == {"run_id": orphaned.record.run_id, "outcome": "running", "alerts": []}
    assert sorted(os.listdir(orphaned.record.path)) == before
    assert orphaned.leader in lab.living()
    assert not orphaned.record.is_held


def test_recover_after_its_end(lab: Lab, orphaned: Supervised) -> None:
    """``recover`` completes exit.json and verdict.json; the status stays unknown."""
    end_child(lab)
    (row,) = lab.json("recover")["records"]
    assert row["outcome"] == "recovered"
    assert exit_of(orphaned.record)["code"] is None
    assert exit_of(orphaned.record)["exit_code"] is None
    shown = lab.json("show")
    assert shown["state"] == "ended"
    assert shown["verdict"]["exit_code"] is None
    assert shown["verdict"]["disposition"] != "completed"


def test_recover_takes_a_run_once(lab: Lab, orphaned: Supervised) -> None:
    """A second ``recover`` has nothing to do and changes nothing."""
    end_child(lab)
    lab.gpualert("recover")
    before = exit_of(orphaned.record)
    again = lab.gpualert("recover")
    assert (again.returncode, again.stderr) == (0, b"nothing to recover\n")
    assert exit_of(orphaned.record) == before


def test_recover_of_a_supervised_run(lab: Lab) -> None:
    """``recover`` does not touch a run with a live supervisor."""
    run = lab.launch(*WAITS)
    run.wait_for_output(b"ready")
    (row,) = lab.json("recover")["records"]
    assert row["outcome"] == "supervised"
    (lab.home / "go").touch()
    assert run.wait() == 3


def test_recover_finds_the_cause_in_the_log(lab: Lab) -> None:
    """The verdict of a lost run comes from its log."""
    code = "import time; print('step 1'); time.sleep(0.6); 1 / 0"
    run = lab.launch(*python(code))
    run.wait_for_output(b"step 1")
    kill(run)
    until(lab.is_empty, "the child to end")
    lab.gpualert("recover")
    assert lab.json("show")["verdict"]["cause"] == "div_zero"


def test_recover_of_a_run_killed_in_mid_stop(lab: Lab) -> None:
    """Records of the dead supervisor, such as a stop, are used."""
    code = "trap '' TERM; echo ready; until [ -e go ]; do sleep 0.01; done"
    run = lab.launch(*shell(code))
    run.wait_for_output(b"ready")
    run.signal(signal.SIGTERM)
    run.wait_for_event("stopping")
    kill(run)
    end_child(lab)
    lab.gpualert("recover")
    assert exit_of(run.record)["signal"] == signal.SIGTERM
    assert exit_of(run.record)["sender"]["pid"] == os.getpid()


def test_stop_of_an_orphaned_run(lab: Lab, orphaned: Supervised) -> None:
    """``gpualert stop`` ends a run without a supervisor, and completes its record."""
    done = lab.gpualert("stop", "--grace", "5s")
    assert (done.returncode, done.stdout) == (0, f"{orphaned.record.run_id}  ended\n".encode())
    assert lab.is_empty()
    assert exit_of(orphaned.record)["code"] is None
    assert exit_of(orphaned.record)["signal"] == signal.SIGTERM


def test_stop_of_an_orphaned_tree(lab: Lab) -> None:
    """A stop also ends daemons that carry the run's marker."""
    run = lab.launch(*shell("(setsid sleep 1000 &); sleep 1000 & echo ready; sleep 1000; true"))
    run.wait_for_output(b"ready")
    kill(run)
    assert lab.gpualert("stop").returncode == 0
    until(lab.is_empty, "the tree to end")


def test_stop_of_a_lost_run_that_has_ended(lab: Lab, orphaned: Supervised) -> None:
    """A stop of a run without live processes hits no other process."""
    end_child(lab)
    done = lab.gpualert("stop", orphaned.record.run_id)
    assert done.returncode == 1
    assert b"not running" in done.stdout


def test_leader_number_is_not_trusted(lab: Lab, orphaned: Supervised) -> None:
    """Another process with the leader's number is not the leader."""
    end_child(lab)
    other = lab.start(("env", "-i", "sleep", "1000"))
    try:
        orphaned.record.append_event("launched", pid=other.pid, start_ticks=1, boot_id="another")
        assert lab.gpualert("stop", orphaned.record.run_id).returncode == 1
        assert lab.gpualert("recover", orphaned.record.run_id).returncode == 0
        assert lab.json("show", orphaned.record.run_id)["state"] == "ended"
        assert other.poll() is None
    finally:
        other.kill()


def test_follow_of_an_orphaned_run(lab: Lab, orphaned: Supervised) -> None:
    """``follow`` continues as long as the training, with or without a supervisor."""
    command = (*PROGRAM, "follow", orphaned.record.run_id)
    follower = lab.start(command, stdout=subprocess.PIPE)
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"ready\n"
    end_child(lab)
    assert follower.communicate(timeout=30)[0] == b"done\n"
    assert follower.returncode == 0


def test_killed_with_its_recorder(lab: Lab) -> None:
    """The training survives when all our processes are killed at once."""
    run = lab.launch(*WAITS)
    run.wait_for_output(b"ready")
    assert len(ours(lab)) == 2
    for pid in ours(lab):
        os.kill(pid, signal.SIGKILL)
    run.process.wait()
    end_child(lab)
    assert lab.json("recover")["records"][0]["outcome"] == "recovered"
    assert run.log() == b"ready\ndone\n"


def test_recorder_is_killed(lab: Lab) -> None:
    """A killed recorder is replaced at the end: status, record and verdict are complete."""
    run = lab.launch(*WAITS)
    run.wait_for_output(b"ready")
    (recorder,) = set(ours(lab)) - {run.process.pid}
    os.kill(recorder, signal.SIGKILL)
    (lab.home / "go").touch()
    assert run.wait() == 3
    assert exit_of(run.record)["code"] == 3
    assert lab.json("show")["verdict"]["exit_code"] == 3


def test_recorder_stopped(lab: Lab) -> None:
    """A stopped recorder (as by a stalled disk) delays the status by less than a second."""
    run = lab.launch(*WAITS)
    run.wait_for_output(b"ready")
    (recorder,) = set(ours(lab)) - {run.process.pid}
    os.kill(recorder, signal.SIGSTOP)
    (lab.home / "go").touch()
    assert run.wait() == 3
    os.kill(recorder, signal.SIGCONT)
    until(lambda: run.record.read_json("verdict.json"), "the late recorder to finish the record")
    assert exit_of(run.record)["code"] == 3
