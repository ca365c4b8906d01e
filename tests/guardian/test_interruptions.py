"""An exception of the engine at any point of an attempt leaves nothing of the run."""

from __future__ import annotations

import json
import os
import signal

import pytest

from gpualert_common.guardian.keys import Key
from gpualert_common.record import Record
from tests.guardian.faces import ROOT, SAVES, SAVES_SLOWLY, attempt, trainings
from tests.supervised import DEADLINE_S, Lab, python, until

ROUNDS = 15
INTERRUPTED = """
import json, random, signal, sys
from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.spec import RunSpec

class Interrupted(BaseException):
    pass

def interrupt(*_):
    raise Interrupted

def interrupt_again(ignored):  # a finalizer ran, whose exceptions Python ignores
    signal.setitimer(signal.ITIMER_REAL, 0.01)

signal.signal(signal.SIGALRM, interrupt)
sys.unraisablehook = interrupt_again
rounds, seed, command, state_dir = json.loads(sys.argv[1])
rng = random.Random(seed)
for number in range(rounds):
    spec = RunSpec(command, grace_s=3.0, state_dir=state_dir)
    handle, where = None, "launch"
    after_s = rng.uniform(0.0001, 0.15)
    try:
        if number % 3:
            signal.setitimer(signal.ITIMER_REAL, after_s)
        handle = RunHandle.launch(spec, Attempt((f"task {number}",), lease_s=1.0))
        where = "follow"
        if not number % 3:
            signal.setitimer(signal.ITIMER_REAL, after_s)
        for count, _lines in enumerate(handle.follow()):
            if number % 2 and count:
                break
        where = "wait"
        handle.wait()
    except Interrupted:
        if handle is not None:
            handle.stop("it was interrupted")
            handle.wait(60)
            handle.close()
    print(where, flush=True)
"""


def test_interrupted_at_any_moment(lab: Lab) -> None:
    """An exception at any moment leaves nothing of the run, and no result is a success."""
    script = json.dumps([ROUNDS, 1, SAVES, str(lab.state)])
    done = lab.call(
        (*python(INTERRUPTED), script), env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.split().count(b"launch") > 0
    assert done.stdout.split().count(b"follow") > 0
    until(lambda: not trainings(lab.mark), "every training to end")
    until(lab.is_empty, "every guardian to end")
    for path in lab.records():
        record = Record.open(str(path))
        verdict = record.read_json("verdict.json")
        assert verdict is not None, list(record.events())
        assert verdict["disposition"] in ("cancelled", "preempted")
        record.close()


AT_EACH_LINE = """
import json, sys
from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.spec import RunSpec

class Interrupted(BaseException):
    pass

def interrupt_at(line):
    passed = [0]
    def step(frame, event, _argument):
        if event == "line":
            passed[0] += 1
            if passed[0] == line:
                sys.settrace(None)
                raise Interrupted(f"{frame.f_code.co_qualname}:{frame.f_lineno}")
        return step
    def call(frame, _event, _argument):
        names = ("handle", "launcher", "run_follower", "launch", "keys")
        own = tuple(f"/guardian/{name}.py" for name in names)
        return step if frame.f_code.co_filename.endswith(own) else None
    return call

command, state_dir = json.loads(sys.argv[1])
line, done = 1, False
while not done:
    sys.settrace(interrupt_at(line))
    try:
        attempt = Attempt((f"task {line}",), adopt_within_s=600.0, lease_s=600.0)
        handle = RunHandle.launch(RunSpec(command, grace_s=3.0, state_dir=state_dir), attempt)
        sys.settrace(None)
        done = True
        handle.stop("that was all")
    except Interrupted as error:
        print(line, error, flush=True)
    line += 1
open("swept", "w").close()
sys.stdin.read()
"""


def test_interrupted_at_each_line(lab: Lab) -> None:
    """After an exception at any line of a launch, everything that was begun ends by itself."""
    script = json.dumps([SAVES, str(lab.state)])
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = lab.start((*python(AT_EACH_LINE), script), stdin=-1, stdout=-1, env=env)
    assert process.stdin is not None
    assert process.stdout is not None
    until((lab.home / "swept").exists, "the launch without an exception", 5 * DEADLINE_S)
    until(lambda: not trainings(lab.mark), "every training to end while their attempt lives")
    process.stdin.close()
    assert len(process.stdout.read().splitlines()) > 50
    assert process.wait(DEADLINE_S) == 0


@pytest.mark.parametrize("kind", ["Interrupted", "TimedOutError", "KeyboardInterrupt"])
def test_interrupted_while_it_waits(lab: Lab, kind: str) -> None:
    """An exception during the wait for the previous run is passed on, and that run is left
    alone."""
    first = attempt(lab, SAVES_SLOWLY, grace_s=DEADLINE_S)
    first.wait_for_line("started")
    first.signal(signal.SIGTERM)
    first.wait_for_line("saving")
    second = attempt(lab, SAVES_SLOWLY, number=2, interrupt=kind)
    second.wait_for("message")
    second.signal(signal.SIGALRM)
    assert second.wait_for("error") == kind
    second.wait()
    (lab.home / "saved").touch()
    assert first.result() == (0, "cancelled")
    assert len(lab.records()) == 1


@pytest.mark.parametrize("kind", ["Interrupted", "TimedOutError", "KeyboardInterrupt"])
def test_interrupted_at_the_key(lab: Lab, kind: str) -> None:
    """An exception during the wait for another attempt's decision is passed on; nothing is
    launched."""
    key = Key(("task",), str(lab.state))
    key.take()
    face = attempt(lab, interrupt_after_s=0.7, interrupt=kind)
    assert face.wait_for("error") == kind
    face.wait()
    key.release()
    assert lab.records() == []
    assert not trainings(lab.mark)
