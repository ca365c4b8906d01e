"""Real trainings of two processes by JAX and TensorFlow, of which one holds up the other."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from gpualert_common.stacks.dump import WaitKind
from gpualert_common.stacks.reasons import HangReason, explain_hang
from tests.stacks.conftest import ROOT
from tests.stacks.hangs import explain, stop, take
from tests.supervised import Lab, free_port, shell, until

pytestmark = pytest.mark.nightly

PYTHON = ROOT / ".venv-corpus" / "jax" / "bin" / "python"
FOLDER = Path(__file__).parent
_STARTS_WITHIN_S = 120
_MODES = {
    "sleep": (HangReason.SLEEP, "sleep ("),
    "loop": (HangReason.LOOP, "loop ("),
    "stop_itself": (HangReason.STOPPED, "stop_itself ("),
    "hold_the_gil": (HangReason.GIL, "hold_the_gil ("),
    "wait_for_a_child": (HangReason.SLEEP, ""),
}
"""Reason and place of each mode."""


def launch_jax(
    lab: Lab, mode: str, operation: str = "sum", *, ranks: tuple[int, ...] = (0, 1), named: str = ""
) -> None:
    """Start the training by JAX; ``named`` says where its processes have their numbers."""
    port = free_port()
    lines = ["export JAX_PLATFORMS=cpu"]
    for rank in ranks:
        words = [str(PYTHON), str(FOLDER / "hanging_jax.py"), mode, operation, str(port), str(rank)]
        if named == "argument":
            words += ["--process_id", str(rank), "--num_processes", "2"]
        variables = f"JAX_COORDINATOR_ADDRESS=127.0.0.1:{port} JAX_NUM_PROCESSES=2 "
        start = f"{variables}JAX_PROCESS_ID={rank} " if named == "variable" else ""
        lines.append(f"{start}{shlex.join(words)} &")
    run = lab.launch(*shell("\n".join((*lines, "wait"))), options=("--streams", "merged"))
    if len(ranks) == 2:
        until(lambda: run.log().count(b"ready") == 2, "both to be at work", _STARTS_WITHIN_S)


def launch_tensorflow(lab: Lab, mode: str) -> None:
    """Start the training by TensorFlow."""
    cluster = {"worker": [f"127.0.0.1:{free_port()}" for _rank in (0, 1)]}
    lines = []
    for rank in (0, 1):
        config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": rank}})
        words = [str(PYTHON), str(FOLDER / "hanging_tensorflow.py"), mode]
        lines.append(f"TF_CONFIG={shlex.quote(config)} {shlex.join(words)} &")
    run = lab.launch(*shell("\n".join((*lines, "wait"))), options=("--streams", "merged"))
    until(lambda: run.log().count(b"ready") == 2, "both to be at work", _STARTS_WITHIN_S)


@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("framework", ["jax", "tensorflow"])
def test_rank_that_holds_up_the_other(lab: Lab, framework: str, mode: str) -> None:
    """The rank, its place and the reason are named."""
    if framework == "jax":
        launch_jax(lab, mode, named="variable")
    else:
        launch_tensorflow(lab, mode)
    reason, place = _MODES[mode]
    found = explain(lab, reason)
    assert found.rank == 1
    assert found.place.startswith(place)
    assert found.text.startswith("rank 0 waits in a computation at ")
    stop(lab)


@pytest.mark.parametrize("operation", ["sum", "barrier"])
def test_rank_of_an_argument(lab: Lab, operation: str) -> None:
    """Processes without variables have their ranks in their arguments."""
    launch_jax(lab, "sleep", operation, named="argument")
    found = explain(lab, HangReason.SLEEP)
    assert found.rank == 1
    name = "sync_global_devices" if operation == "barrier" else "a computation"
    assert found.text.startswith(f"rank 0 waits in {name} at take_part (")
    stop(lab)


def test_processes_without_ranks(lab: Lab) -> None:
    """Without any rank the process is named by its number and its command."""
    launch_jax(lab, "stop_itself")
    found = explain(lab, HangReason.STOPPED)
    assert found.rank is None
    stopped = next(one for one in take(lab).processes if one.main.wait.kind is WaitKind.STOPPED)
    assert f"for process {stopped.pid} (python), which is stopped by a signal" in found.text
    assert f"command: {stopped.command}" in lab.gpualert("stacks").stdout.decode()
    stop(lab)


def test_missing_rank(lab: Lab) -> None:
    """A rank that never came is named as the one that the other waits for."""
    launch_jax(lab, "sleep", ranks=(0,), named="variable")
    found = explain(lab, HangReason.RENDEZVOUS)
    assert found.rank == 1
    assert found.text.endswith("for rank 1, which has no process")
    stop(lab)


def test_slow_rank(lab: Lab) -> None:
    """A rank that moves on while the other one waits computes, and is no hang."""
    launch_jax(lab, "work_slowly", named="variable")
    first = take(lab)

    def has_moved() -> bool:
        found = explain_hang(take(lab), first)
        return found is not None and found.rank == 1 and not found.is_confirmed

    until(has_moved, "a rank at work", poll_s=0.3)
    stop(lab)
