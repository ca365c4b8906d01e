"""Real runs of several processes without a framework: the one that the others wait for."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from gpualert_common.stacks.reasons import HangReason
from tests.stacks.hangs import explain, stop
from tests.supervised import PYTHON, Lab, shell

pytestmark = pytest.mark.e2e

PROGRAM = Path(__file__).with_name("hanging_peers.py")
_OPTIONS = ("--streams", "merged", "--grace", "0s")


def launch(lab: Lab, launcher: str, mode: str, *roles: str) -> None:
    """Start the roles by a launcher, and return once the answer does not come."""
    place = lab.home / "meeting"
    if "fill" in roles:
        os.mkfifo(place)
    words = [shlex.join((PYTHON, str(PROGRAM), role, mode, str(place))) for role in roles]
    script = {
        "shell": " & ".join((*words, "wait")),
        "xargs": f"printf '%s\\n' {shlex.join(words)} | xargs -P 2 -I@ sh -c 'exec @'",
        "multiprocessing": f"exec {words[0]}",
    }[launcher]
    lab.launch(*shell(script), options=_OPTIONS).wait_for_output(b"ready")


@pytest.mark.parametrize(
    ("launcher", "roles", "mode", "reason"),
    [
        ("shell", ("answer", "ask"), "sleep", HangReason.SLEEP),
        ("shell", ("drain", "fill"), "stop_itself", HangReason.STOPPED),
        ("xargs", ("ask", "answer"), "hold_the_gil", HangReason.GIL),
        ("multiprocessing", ("launch",), "loop", HangReason.LOOP),
        ("multiprocessing", ("launch",), "sleep", HangReason.SLEEP),
        ("multiprocessing", ("delegate",), "stop_itself", HangReason.STOPPED),
    ],
)
def test_process_that_does_not_answer(
    lab: Lab, launcher: str, roles: tuple[str, ...], mode: str, reason: HangReason
) -> None:
    """The chain of waits leads to the process that does not answer, and to its line."""
    launch(lab, launcher, mode, *roles)
    found = explain(lab, reason)
    assert found.place.startswith(f"{mode} (hanging_modes.py:")
    assert found.chain[-1].main.wait.kind is not found.chain[0].main.wait.kind
    stop(lab)


def test_process_that_died(lab: Lab) -> None:
    """A process that waits for one that has exited shows that."""
    launch(lab, "multiprocessing", "exit", "launch")
    found = explain(lab, HangReason.DEAD_WORKER)
    assert found.text.endswith("has exited")
    stop(lab)


def test_processes_that_wait_for_each_other(lab: Lab) -> None:
    """Two processes that both wait for the other one's message are a cycle."""
    launch(lab, "multiprocessing", "receive", "launch")
    found = explain(lab, HangReason.CYCLE)
    assert found.text.endswith(" in turn: none of them can continue")
    stop(lab)
