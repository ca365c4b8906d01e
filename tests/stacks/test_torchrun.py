"""Real trainings under torchrun of which one rank holds up the others: rank, place and reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpualert_common.stacks.reasons import HangReason
from tests.stacks.hangs import explain, stop
from tests.supervised import PYTHON, Lab, Supervised, until

TRAINING = Path(__file__).with_name("hanging_training.py")
_MODES = {
    "sleep": (HangReason.SLEEP, "sleep ("),
    "stop_itself": (HangReason.STOPPED, "stop_itself ("),
    "fork_with_a_held_lock": (HangReason.FORKED_LOCK, "take_the_lock ("),
    "train_from_a_loader": (HangReason.SLEEP, "read_from_storage ("),
    "loop": (HangReason.LOOP, "loop ("),
    "hold_the_gil": (HangReason.GIL, "hold_the_gil ("),
    "wait_for_a_child": (HangReason.SLEEP, ""),
}
"""Reason and place of each mode of the training."""
_IN_CI = frozenset(("fork_with_a_held_lock",))
_SIZES = (2, 4, 8)


def launch(lab: Lab, ranks: int, *arguments: str) -> Supervised:
    """Start the training, and return once its ranks have taken steps together."""
    launcher = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node")
    options = ("--streams", "merged", "--grace", "1s")
    command = (*launcher, str(ranks), str(TRAINING), *arguments)
    run = lab.launch(*command, options=options)
    until(lambda: run.log().count(b"ready") == ranks, "all ranks to be at work", 180)
    return run


@pytest.mark.parametrize(
    ("mode", "ranks"),
    [
        pytest.param(mode, ranks, marks=pytest.mark.e2e if is_quick else pytest.mark.nightly)
        for mode in _MODES
        for ranks in _SIZES
        for is_quick in (mode in _IN_CI and ranks == 2,)
    ],
)
def test_rank_that_holds_up_the_others(lab: Lab, mode: str, ranks: int) -> None:
    """The rank, its place and the reason are named, and no other rank."""
    reason, place = _MODES[mode]
    launch(lab, ranks, mode)
    found = explain(lab, reason)
    assert found.rank == 1
    assert found.place.startswith(place)
    assert not found.is_moving
    waiting = "rank 0 waits" if ranks == 2 else f"ranks 0, 2-{ranks - 1} wait"
    assert found.text.startswith(f"{waiting} in all_reduce at train")
    stop(lab)


@pytest.mark.e2e
def test_other_operation(lab: Lab) -> None:
    """Ranks in different operations are an error of the program; no rank is named."""
    launch(lab, 2, "other_operation")
    found = explain(lab, HangReason.MISMATCH)
    assert found.rank is None
    assert "rank 0 is in all_reduce" in found.text
    assert "rank 1 is in broadcast" in found.text
    stop(lab)


@pytest.mark.nightly
def test_evaluating_rank(lab: Lab) -> None:
    """A rank that evaluates while the others wait computes, and is no hang."""
    launch(lab, 2, "evaluate", str(lab.home / "go"))
    found = explain(lab, HangReason.COMPUTATION)
    assert found.rank == 1
    assert re.search(r"which computes at (?:forward|measure|evaluate)\b", found.text)
    stop(lab)
