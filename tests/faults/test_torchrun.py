"""A distributed training under torchrun: after a stop it saves, and all processes exit."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.faults.conftest import Fence
from tests.supervised import PROGRAM, PYTHON, Lab, exit_of, in_group_or_session, until

pytestmark = pytest.mark.e2e

TRAINING = Path(__file__).parents[2] / "examples" / "train_torch.py"


def torchrun(lab: Lab) -> str:
    """The command line of two gloo ranks that need 2 s to save when they are stopped."""
    return (
        f"{PYTHON} -m torch.distributed.run --standalone --nproc-per-node 2 {TRAINING}"
        f" --epochs 100000 --save-every 100000 --save-seconds 2 --checkpoint {lab.home}/saved.pt"
    )


@pytest.mark.parametrize("wrapped", [False, True], ids=["directly", "in a shell"])
def test_two_ranks_save_and_end(lab: Lab, fence: Fence, wrapped: bool) -> None:
    """TERM reaches torchrun, rank 0 saves its checkpoint, and no process is left."""
    command = torchrun(lab)
    words = ["bash", "-c", f"cd /; {command}; echo over"] if wrapped else command.split()
    options = ("--grace", "2m", "--streams", "merged")  # torchrun itself waits 30 s for its ranks
    program = fence.around(*PROGRAM, "run", *options, "--", *words)
    process = lab.start(program)
    until(lambda: lab.has_output(b"epoch 1/"), "the training to be under way", 120)
    leader = lab.record().leader_pid
    assert leader is not None
    process.send_signal(signal.SIGTERM)
    status = process.wait(180)
    assert status == (143 if wrapped else 1), "torchrun itself exits 1 when it is stopped"
    import torch

    assert torch.load(lab.home / "saved.pt", weights_only=False)
    until(lab.is_empty, "every marked process to be gone")
    until(fence.is_empty, "the control group to be empty")
    assert not in_group_or_session(leader)
    assert exit_of(lab.record())["survivors"] == []
    assert lab.json("show")["verdict"]["disposition"] in ("preempted", "cancelled")


def test_rank_that_dies(lab: Lab) -> None:
    """If one rank is killed torchrun stops the others, and the verdict names the first failure."""
    process = lab.start((*PROGRAM, "run", "--streams", "merged", "--", *torchrun(lab).split()))
    until(lambda: lab.has_output(b"epoch 1/"), "the training to be under way", 120)
    ranks = [
        pid
        for pid, line in lab.living().items()
        if str(TRAINING) in line and "torch.distributed.run" not in line and "gpualert" not in line
    ]
    assert len(ranks) == 2
    os.kill(ranks[1], signal.SIGKILL)
    assert process.wait(60) == 1
    until(lab.is_empty, "every marked process to be gone")
    assert lab.json("show")["verdict"]["disposition"] == "killed"
