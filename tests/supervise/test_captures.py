"""Captures of a run whose steps become slow: at no risk for the run."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from gpualert_common.profiles.profile_files import read_profiles
from gpualert_common.profiles.rank_texts import summarize
from gpualert_common.record import CAPTURE_TAKEN, VERDICT, Record
from gpualert_common.supervise.captures import CaptureRequest, Captures
from tests.supervised import PYTHON, Lab, Supervised, breaking, python, until

FLAG = "TEST_SLOW_FLAG"
"""Variable with the path of a file: once it exists, the steps of the training are slow."""
QUICK = f"""
import os
import gpualert_common.diagnose.warning_monitor as m; m.PERIOD_S = 0.2; m._LONGEST_PAUSE_S = 0.2
from gpualert_common.diagnose import thresholds as t
t.PACE_WINDOW_S, t.PACE_WINDOW_STEPS, t.PACE_WINDOWS = 0.5, 2, 2
from gpualert_common.diagnose.step_pace import PaceWindows
add = PaceWindows.add
def add_and_slow_down(self, at, step, **known):
    add(self, at, step, **known)
    if len(self._early) >= t.PACE_WINDOWS:
        open(os.environ["{FLAG}"], "w").close()
PaceWindows.add = add_and_slow_down
"""
"""Watches the pace in windows of half a second; slows the training once it knows its beginning."""
SLOWING = f"""
import os, time
def load_batch(seconds): time.sleep(seconds)
print("ready", flush=True)
for step in range(1, 100_000):
    load_batch(0.5 if os.path.exists(os.environ["{FLAG}"]) else 0.01)
    print(f"step {{step}} loss {{5 / step + 1:.4f}}", flush=True)
"""
BROKEN = """
import subprocess, sys
import gpualert_common.run_hooks as hooks
hooks.RunHooks.start_capture = lambda _self, _wanted: subprocess.Popen(
    [sys.executable, "-c", {program!r}], stdout=subprocess.PIPE)
"""


@pytest.fixture(autouse=True)
def flag(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Sample the runs, as they are by default; return the file that slows the training down."""
    monkeypatch.setenv("GPUALERT_OBSERVE", "true")
    monkeypatch.setenv(FLAG, str(tmp_path / "slow"))
    return tmp_path / "slow"


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


@pytest.mark.parametrize("kind", ["profile", pytest.param("trace", marks=pytest.mark.nightly)])
def test_slow_steps_are_captured(kind: str, lab: Lab) -> None:
    """A run whose steps become slow has a profile, which names the place; also for a trace of a
    program without PyTorch, where the event says so."""
    run = launch(lab, "--on-slowdown", kind)
    event = until(lambda: run.record.event(CAPTURE_TAKEN), "the profile", 120)
    (_path, profile), *others = read_profiles(run.record)
    assert not others
    assert profile.reason == event.fields["reason"] == "steps slower than at its beginning"
    assert "load_batch" in summarize(profile)
    assert bool(event.fields["problem"]) is (kind == "trace")
    stop(run)


def test_off_unless_configured(lab: Lab, flag: Path) -> None:
    """Without the option a run that becomes slow is neither watched nor captured."""
    run = launch(lab)
    run.wait_for_output(b"step 200 ")
    flag.touch()
    run.wait_for_output(b"step 210 ")
    stop(run)
    names = {event.name for event in run.record.events()}
    assert not names & {CAPTURE_TAKEN, "warning_raised"}
    assert not list(read_profiles(run.record))


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("print('no place for it'); raise SystemExit(1)", "no place for it"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "the program exited with -9"),
    ],
)
def test_capture_that_fails(program: str, problem: str, lab: Lab) -> None:
    """A capture that fails is an event of the record with its reason; the run goes on."""
    run = launch(lab, "--on-slowdown", "profile", code=QUICK + BROKEN.format(program=program))
    event = until(lambda: run.record.event(CAPTURE_TAKEN), "the event", 120)
    assert event.fields["problem"] == problem
    stop(run)


def test_capture_that_never_ends(lab: Lab, tmp_path: Path) -> None:
    """A capture that hangs delays neither a stop nor the exit status."""
    begun = tmp_path / "begun"
    program = f"import time; open({str(begun)!r}, 'w').close(); time.sleep(1000)"
    run = launch(lab, "--on-slowdown", "profile", code=QUICK + BROKEN.format(program=program))
    until(begun.exists, "the begin of the capture", 120)
    stop(run)
    event = until(lambda: run.record.event(CAPTURE_TAKEN), "the event")
    assert (event.fields["kind"], event.fields["problem"]) == ("profile", "the run ended")


def start(*command: str, started: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Return a program in place of one that takes a capture."""
    started.append(subprocess.Popen(command, stdout=subprocess.PIPE))
    return started[-1]


def test_capture_that_cannot_be_watched() -> None:
    """A program for which there is no descriptor is ended and reaped, with the reason."""
    started: list[subprocess.Popen[bytes]] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def exhaust_descriptors(_wanted: CaptureRequest) -> subprocess.Popen[bytes]:
        process = start("sleep", "1000", started=started)
        free = os.open(os.devnull, os.O_RDONLY)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
        return process

    captures = Captures(exhaust_descriptors, 60.0)
    captures.request(CaptureRequest("slow", kind="profile"))
    try:
        [(wanted, problem)] = captures.update()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert wanted.reason == "slow"
    assert "Too many open files" in problem
    assert not captures.is_busy
    assert started[0].returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("command", "problem", "status"),
    [(("true",), "", 0), (("sleep", "1000"), "the run ended", -signal.SIGKILL)],
)
def test_captures_at_the_end(command: tuple[str, ...], problem: str, status: int) -> None:
    """A capture that is complete counts; one in progress, or not begun, has the reason."""
    started: list[subprocess.Popen[bytes]] = []
    captures = Captures(lambda _: start(*command, started=started), 60.0)
    for reason in ("first", "second"):
        captures.request(CaptureRequest(reason))
    assert captures.update() == []
    if not problem:
        select.select([captures.fd], [], [])
    found = [(wanted.reason, why) for wanted, why in captures.stop("the run ended")]
    assert found == [("first", problem), ("second", "the run ended")]
    assert [one.returncode for one in started] == [status]
    assert captures.stop("the run ended") == []


@pytest.mark.nightly
def test_rank_that_becomes_slow(lab: Lab, flag: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace is taken when rank 1 becomes slow, and the verdict names it with this evidence."""
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())  # a socket has a short path
    stop_file, training = lab.home / "stop", str(Path(__file__).with_name("slowing_ranks.py"))
    torchrun = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    command = (*torchrun, training, str(flag), str(stop_file))
    process = lab.start((*breaking(QUICK), "run", "-q", "--on-slowdown", "trace", "--", *command))
    record = Record.open(str(until(lab.records, "a record")[0]))
    event = until(lambda: record.event(CAPTURE_TAKEN), "the trace", 300)
    assert event.fields["problem"] == ""
    stop_file.touch()
    assert process.wait(120) == 0
    verdict = until(lambda: record.read_json(VERDICT), "the verdict")
    assert (verdict["cause"], verdict["details"]["rank"]) == ("straggler", 1)
    assert (verdict["attribution"], verdict["confidence"]) == ("unknown", 0.8)
    assert verdict["headline"].startswith("Rank 1 is slower by")
    (claim,) = [one for one in verdict["shows"] if one["source"] == "trace"]
    assert "rank 1 is slower by" in claim["claim"]
    assert claim["rank"] == 1
