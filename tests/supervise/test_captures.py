"""Captures of a run whose steps become slow: at no risk for the run."""

from __future__ import annotations

import signal

import pytest

from gpualert_common.profiles.profile_files import read_profiles
from gpualert_common.profiles.rank_texts import summarize
from gpualert_common.record import CAPTURE_TAKEN, Record
from tests.supervised import Lab, Supervised, breaking, python, until

QUICK = """
import gpualert_common.diagnose.warning_monitor as m; m.PERIOD_S = 0.2; m._LONGEST_PAUSE_S = 0.2
from gpualert_common.diagnose import thresholds as t
t.PACE_WINDOW_S, t.PACE_WINDOWS = 0.5, 2
"""
"""Watches the pace in windows of half a second."""
SLOWING = """
import time
def load_batch(seconds): time.sleep(seconds)
print("ready", flush=True)
for step in range(1, 100_000):
    load_batch(0.01 if step < 400 else 0.1)
    print(f"step {step} loss {5 / step + 1:.4f}", flush=True)
"""
BROKEN = """
import subprocess, sys
import gpualert_common.run_hooks as hooks
hooks.RunHooks.start_capture = lambda _self, _wanted: subprocess.Popen(
    [sys.executable, "-c", {program!r}], stdout=subprocess.PIPE)
"""


@pytest.fixture(autouse=True)
def sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sample the runs, as they are by default."""
    monkeypatch.setenv("GPUALERT_OBSERVE", "true")


def launch(lab: Lab, *options: str, code: str = QUICK) -> Supervised:
    """Start a training whose steps become slow."""
    process = lab.start((*breaking(code), "run", "-q", *options, "--", *python(SLOWING)))
    path = until(lab.records, "a record")[0]
    record = Record.open(str(path))
    until(lambda: record.event("launched"), "the launch")
    return Supervised(process, record)


def stop(run: Supervised) -> None:
    """Stop the run, and check that its status is that of its own death."""
    run.process.send_signal(signal.SIGTERM)
    assert run.wait() == 128 + signal.SIGTERM


@pytest.mark.parametrize("kind", ["profile", "trace"])
def test_slow_steps_are_captured(kind: str, lab: Lab) -> None:
    """A run whose steps become slow has a profile, which names the place; also for a trace of a
    program without PyTorch, where the event says so."""
    run = launch(lab, "--on-slowdown", kind)
    event = until(lambda: run.record.event(CAPTURE_TAKEN), "the profile", 60)
    (_path, profile), *others = read_profiles(run.record)
    assert not others
    assert profile.reason == event.fields["reason"] == "steps slower than at its beginning"
    assert "load_batch" in summarize(profile)
    assert bool(event.fields["problem"]) is (kind == "trace")
    stop(run)


def test_off_unless_configured(lab: Lab) -> None:
    """Without the option a run that becomes slow is neither watched nor captured."""
    run = launch(lab)
    run.wait_for_output(b"step 430 ")
    stop(run)
    names = {event.name for event in run.record.events()}
    assert not names & {CAPTURE_TAKEN, "warning_raised"}
    assert not list(read_profiles(run.record))


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("print('no place for it'); raise SystemExit(1)", "no place for it"),
        ("raise SystemExit(3)", "the program exited with 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "the program exited with -9"),
    ],
)
def test_capture_that_fails(program: str, problem: str, lab: Lab) -> None:
    """A capture that fails is an event of the record with its reason; the run goes on."""
    run = launch(lab, "--on-slowdown", "profile", code=QUICK + BROKEN.format(program=program))
    event = until(lambda: run.record.event(CAPTURE_TAKEN), "the event", 60)
    assert event.fields["problem"] == problem
    stop(run)


def test_capture_that_never_ends(lab: Lab) -> None:
    """A capture that hangs delays neither a stop nor the exit status."""
    program = "import time; print('begun', flush=True); time.sleep(1000)"
    run = launch(lab, "--on-slowdown", "profile", code=QUICK + BROKEN.format(program=program))
    run.wait_for_output(b"step 480 ")
    stop(run)
