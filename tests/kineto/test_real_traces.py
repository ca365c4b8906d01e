"""Traces of real PyTorch: all ranks at one moment, and nothing of it in the job."""

from __future__ import annotations

import gzip
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.kineto.asking_runs import TRACING, find_daemon, trace, trace_json
from tests.supervised import PROGRAM, PYTHON, Lab, Supervised, until

pytestmark = pytest.mark.usefixtures("sockets")

TRAINING = str(Path(__file__).with_name("traced_training.py"))
_ALLOWED_SKEW_S = 0.25
"""Two busy cores; on an idle machine it is a millisecond."""


def launcher(lab: Lab, ranks: int, workers: str = "none") -> tuple[str, ...]:
    """Return the command of a training that ends when the file "stop" exists."""
    torchrun = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node")
    return (*torchrun, str(ranks), TRAINING, str(lab.home / "stop"), workers)


def launch(lab: Lab, ranks: int, workers: str = "none") -> Supervised:
    """Start a training with tracing, and return once it trains."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # torchrun is silent then
    run = lab.launch(*launcher(lab, ranks, workers), options=TRACING, env=environment)
    until(lambda: b"training" in run.log(), "the training to train", 180)
    return run


def finish(lab: Lab, run: Supervised) -> None:
    """End the training by itself; nothing of ours is in its output, and its status is 0."""
    (lab.home / "stop").touch()
    assert run.process.wait(60) == 0
    assert set(run.log().splitlines()) == {b"training", b"trained"}
    until(lab.is_empty, "the daemon to end")


def read_events(path: Path) -> tuple[float, list[dict[str, Any]]]:
    """Return the time of the base of a trace in seconds, and its complete events."""
    content = json.loads(gzip.decompress(path.read_bytes()))
    events = [one for one in content["traceEvents"] if one.get("ph") == "X"]
    return content["baseTimeNanoseconds"] / 1e9, events


def check_trace(found: dict[str, Any], ranks: int) -> None:
    """Check that a trace has all ranks, from the same moment on, and all in the merged file."""
    result = found["result"]
    processes = result["processes"]
    assert [(one["rank"], one["problem"]) for one in processes] == [
        (f"rank:{rank}", "") for rank in range(ranks)
    ]
    starts = []
    for one in processes:
        base, events = read_events(Path(found["path"], one["file"]))
        names = {event["name"] for event in events}
        assert {"aten::linear", "gloo:all_reduce"} <= names
        starts.append(base + min(event["ts"] for event in events) / 1e6)
    assert max(starts) - min(starts) < _ALLOWED_SKEW_S
    assert abs(starts[0] - result["start_at"]) < _ALLOWED_SKEW_S
    merged = json.loads(gzip.decompress(Path(found["merged"]).read_bytes()))
    tracks = {one["args"]["name"] for one in merged["traceEvents"] if one["name"] == "process_name"}
    assert {f"rank {rank}" in " ".join(tracks) for rank in range(ranks)} == {True}


@pytest.mark.e2e
def test_two_ranks(lab: Lab) -> None:
    """Two ranks begin at one moment; output and status of the training are as without a trace."""
    run = launch(lab, 2)
    check_trace(trace_json(lab, "--duration", "300ms"), 2)
    finish(lab, run)


@pytest.mark.e2e
def test_program_without_torch(lab: Lab) -> None:
    """A program that has not loaded PyTorch is named as such."""
    lab.launch(PYTHON, "-c", "import time; time.sleep(600)", options=TRACING)
    done = trace(lab, "--duration", "100ms")
    assert done.returncode == 1
    assert b"no trace: it has not loaded PyTorch" in done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize("workers", ["none", "fork", "spawn"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_five_traces(lab: Lab, ranks: int, workers: str) -> None:
    """Five traces in one run, each of all ranks; workers of a data loader are no ranks."""
    run = launch(lab, ranks, workers)
    for _number in range(5):
        check_trace(trace_json(lab, "--duration", "200ms"), ranks)
    finish(lab, run)


@pytest.mark.nightly
def test_stacks(lab: Lab) -> None:
    """With stacks, a trace has the frames of Python."""
    run = launch(lab, 2)
    found = trace_json(lab, "--duration", "200ms", "--stacks", "--ranks", "1")
    (process,) = found["result"]["processes"]
    _base, events = read_events(Path(found["path"], process["file"]))
    assert any("traced_training.py" in one["name"] for one in events)
    time.sleep(5)  # PyTorch must have written all before the process exits
    (lab.home / "stop").touch()
    run.process.wait(60)


@pytest.mark.nightly
def test_guardian(lab: Lab) -> None:
    """A detached run is traced, also when its guardian was killed."""
    done = lab.gpualert("run", "--detach", *TRACING, "--", *launcher(lab, 2))
    assert done.returncode == 0
    until(lambda: lab.has_output(b"training"), "the training to train", 180)
    check_trace(trace_json(lab, "--duration", "200ms"), 2)
    for pid, command in lab.living().items():
        if "gpualert_common.guardian.main" in command:
            os.kill(pid, signal.SIGKILL)
    check_trace(trace_json(lab, "--duration", "200ms"), 2)
    (lab.home / "stop").touch()
    until(lab.is_empty, "the daemon to end", 60)


@pytest.mark.nightly
def test_two_runs(lab: Lab) -> None:
    """Two runs on one machine are traced at the same time, each by its own daemon."""
    first, second = launch(lab, 2), launch(lab, 2)
    requests = [
        lab.start((*PROGRAM, "trace", "--json", run.record.run_id)) for run in (first, second)
    ]
    assert [one.wait(90) for one in requests] == [0, 0]
    assert not find_daemon(lab), "there are two"
    (lab.home / "stop").touch()
    assert [first.process.wait(60), second.process.wait(60)] == [0, 0]
