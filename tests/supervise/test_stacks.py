"""Stacks of a run: taken before it is stopped and when it hangs, at no risk for the stop."""

from __future__ import annotations

import signal

import pytest

from gpualert_common.record import Record
from gpualert_common.stacks.reasons import HangReason, explain_hang
from gpualert_common.stacks.storage import read_dumps
from tests.supervised import Lab, Supervised, breaking, exit_of, python, until

YOUNG = "import gpualert_common.supervise.supervisor as s; s.LEAST_AGE_S = 0.0"
"""Takes the stacks of a run of any age before it is stopped."""
QUICK = f"""
{YOUNG}
import gpualert_common.diagnose.warning_monitor as m; m.PERIOD_S = 0.3
from gpualert_common.diagnose import thresholds as t
t.BETWEEN_DUMPS_S, t.LEAST_BETWEEN_DUMPS_S = 1.5, 1.0
"""
"""Looks at the run every 0.3 s, and takes its stacks twice within 1.5 s."""
STUCK_PROGRAM = """
import subprocess
import gpualert_common.run_hooks as hooks
hooks.RunHooks.start_capture = lambda _self, _wanted: subprocess.Popen(["sleep", "1000"])
import gpualert_common.supervise.supervisor as s
s.LEAST_AGE_S, s.STOP_WAITS_S = 0.0, 0.3
"""
SLEEPER = """
import time
def wait_for_ever():
    print("ready", flush=True)
    time.sleep(1000)
wait_for_ever()
"""
MOVING = "import time\n" + "\n".join(
    [f"def step_{number}(): time.sleep(0.5)" for number in range(16)]
    + ["print('ready', flush=True)"]
    + [f"step_{number}()" for number in range(16)]
)
"""Prints nothing for 8 s, and is at another place every half second."""


@pytest.fixture(autouse=True)
def sampled(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    """Sample the runs: without that no stacks are taken."""
    assert lab.environment()["GPUALERT_OBSERVE"] == "false"
    monkeypatch.setenv("GPUALERT_OBSERVE", "true")


def launch(lab: Lab, code: str, program: str, *options: str) -> Supervised:
    """Start a program under a gpualert that runs ``code`` first; wait for its output."""
    process = lab.start((*breaking(code), "run", "-q", *options, "--", *python(program)))
    path = until(lab.records, "a record")[0]
    record = Record.open(str(path))
    until(lambda: record.event("launched"), "the launch")
    run = Supervised(process, record)
    run.wait_for_output(b"ready")
    return run


def events_of(record: Record) -> list[str]:
    """Return the names of the events."""
    return [event.name for event in record.events()]


def test_time_limit(lab: Lab) -> None:
    """At a time limit the stacks are taken first, and then the run is stopped."""
    run = launch(lab, YOUNG, SLEEPER, "--timeout", "2s")
    assert run.wait() == 124
    (dump,) = read_dumps(run.record)
    assert dump.reason == "at the time limit"
    found = explain_hang(dump)
    assert found is not None
    assert (found.reason, found.place.partition(" ")[0]) == (HangReason.SLEEP, "wait_for_ever")
    events = events_of(run.record)
    assert events.index("stacks_taken") < events.index("leader_exited")


def test_stop_command(lab: Lab) -> None:
    """A stop by a person waits for the stacks."""
    run = launch(lab, YOUNG, SLEEPER)
    assert lab.gpualert("stop").returncode == 0
    run.wait()
    assert [dump.reason for dump in read_dumps(run.record)] == ["before a stop"]
    assert exit_of(run.record)["code"] == -signal.SIGTERM


def test_signal_passed_on(lab: Lab) -> None:
    """A signal of another process is passed on at once: its notice may be short."""
    run = launch(lab, YOUNG, SLEEPER)
    run.signal(signal.SIGTERM)
    run.wait()
    assert read_dumps(run.record) == []
    assert "stacks_taken" not in events_of(run.record)


def test_young_run(lab: Lab) -> None:
    """A young run is stopped at once."""
    run = launch(lab, "pass", SLEEPER)
    lab.gpualert("stop")
    run.wait()
    assert read_dumps(run.record) == []


def test_stuck_dump(lab: Lab) -> None:
    """A program that takes the stacks for ever delays the stop by its limit, and is ended; the
    record says so."""
    run = launch(lab, STUCK_PROGRAM, SLEEPER)
    assert lab.gpualert("stop").returncode == 0
    run.wait()
    assert exit_of(run.record)["code"] == -signal.SIGTERM
    event = until(lambda: run.record.event("stacks_taken"), "the event")
    assert event.fields["problem"] == "the run ended"
    until(lab.is_empty, "the processes of the run to be gone")


def test_dump_that_cannot_start(lab: Lab) -> None:
    """A dump that cannot be started is noted, and the stop goes on."""
    code = f"""{YOUNG}
import gpualert_common.run_hooks as hooks
def fail(_self, _wanted): raise OSError("no process is left")
hooks.RunHooks.start_capture = fail
"""
    run = launch(lab, code, SLEEPER)
    lab.gpualert("stop")
    run.wait()
    event = run.record.event("stacks_taken")
    assert event is not None
    assert event.fields["problem"] == "no process is left"
    assert exit_of(run.record)["code"] == -signal.SIGTERM


def test_hang_is_stopped(lab: Lab) -> None:
    """A run that hangs for the hang timeout is stopped, and its verdict has the reason."""
    run = launch(lab, QUICK, SLEEPER, "--hang-timeout", "1s", "--on-hang", "stop")
    assert run.wait() == 124
    verdict = run.record.verdict
    assert verdict is not None
    assert (verdict.cause, verdict.disposition, verdict.family) == ("idle_hang", "timeout", "C3")
    assert verdict.headline.startswith("Hung: process ")
    assert "sleeps at wait_for_ever (" in verdict.headline
    assert verdict.attribution == "job"
    assert len(read_dumps(run.record)) == 2
    assert exit_of(run.record)["limit"] == "hang"


def test_hang_is_reported(lab: Lab) -> None:
    """By default a hang raises one warning, and the run goes on."""
    run = launch(lab, QUICK, SLEEPER, "--hang-timeout", "1s")
    warning = run.wait_for_event("warning_raised")
    assert (warning["kind"], warning["says"]) == ("hung", "hung")
    assert "sleeps" in warning["shows"][1]["claim"]
    assert run.process.poll() is None
    lab.gpualert("stop")


def test_slow_run_does_not_hang(lab: Lab) -> None:
    """A silent run that moves on does not hang, however short the hang timeout is."""
    run = launch(lab, QUICK, MOVING, "--hang-timeout", "1s", "--on-hang", "stop")
    assert run.wait() == 0
    assert len(read_dumps(run.record)) >= 2
    assert "warning_raised" not in events_of(run.record)
