"""Tests of the part of a training that is done, read from lines of its log."""

from __future__ import annotations

import pytest

from gpualert_common.progress.completion import Completion, counts_in

STEPS = {
    "tqdm": (" 45%|####5     | 450/1000 [00:10<00:13, 41.2it/s]", (450, 1000)),
    "tqdm, blocks": ("Training:  10%|█         | 1/10 [00:01<00:09]", (1, 10)),
    "keras": ("120/1000 [==>...........] - ETA: 3s - loss: 0.4", (120, 1000)),
    "keras 3": ("120/1000 ━━━━━━━━━━━━━━━━━━━━ 3s 2ms/step", (120, 1000)),
    "megatron": (" iteration      120/    1000 | consumed samples:  1", (120, 1000)),
    "torchvision": ("Epoch: [2]  [  10/5005]  eta: 0:10:00  lr: 0.1", (10, 5005)),
    "mmdetection": ("mmdet - INFO - Epoch [1][50/1000]  lr: 0.01", (50, 1000)),
    "torch examples": ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.3", (640, 60000)),
    "by hand": ("[rank0]: global_step 5/10", (5, 10)),
    "of": ("Step 120 of 1000", (120, 1000)),
    "both": ("Epoch [3/10], Step [100/600], Loss: 0.1", (100, 600)),
}
NO_STEPS = {
    "weights": "Loading checkpoint shards:  50%|#####     | 1/2 [00:00<00:00]",
    "bytes": "model.safetensors:  12%|#2        | 120M/1.0G [00:10<01:00, 11MB/s]",
    "evaluation": "Evaluating:  30%|###       | 3/10 [00:01<00:02]",
    "validation": "Validation batch 3/10",
    "date": "2026-11-21 3/10 done",
    "more than all": "step 12/3",
    "nothing at all": "step 0/0",
    "epochs only": "Epoch:  20%|##        | 2/10 [00:10<01:00,  1it/s]",
    "endless": "step " + "9" * 5000 + "/1",
}
EPOCHS = {
    "keras": ("Epoch 3/10", (2, 10)),
    "from 0": ("epoch 0/9", (0, 9)),
    "brackets": ("Epoch [3/10], Step [100/600]", (2, 10)),
    "a bar of them": ("Epoch:  20%|##        | 2/10 [00:10<01:00,  1it/s]", (2, 10)),
    "no number of them": ("Epoch: [2]  [  10/5005]", None),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_a_line(name: str) -> None:
    """The counts of steps that frameworks and people print are read."""
    line, count = STEPS[name]
    assert counts_in(line.encode()).steps == count


@pytest.mark.parametrize("name", NO_STEPS)
def test_other_counts_are_no_steps(name: str) -> None:
    """A count of anything but training steps is ignored."""
    assert counts_in(NO_STEPS[name].encode()).steps is None


@pytest.mark.parametrize("name", EPOCHS)
def test_epochs_of_a_line(name: str) -> None:
    """An epoch that a line names has begun; a bar of epochs counts those that are done."""
    line, count = EPOCHS[name]
    assert counts_in(line.encode()).epochs == count


def test_steps_are_a_share_of_their_epoch() -> None:
    """Each epoch counts its steps from 0, and the percentage never decreases."""
    completion = Completion()
    assert completion.percent is None
    shown: list[float | None] = []
    for line in (b"Epoch 1/4", b"10/20 [==>..]", b"20/20 [=====]", b"Epoch 2/4", b"10/20 [==>..]"):
        completion = completion.update(line)
        shown.append(completion.percent)
    assert shown == [0.0, 12.5, 25.0, 25.0, 37.5]
    assert str(completion) == "1 of 4 epochs, 10 of 20 steps"


def test_every_drawing_of_a_bar_counts() -> None:
    """Lines end with a line feed or a carriage return, and may be cut or broken."""
    log = b"x" * 1000 + b"\nstep 2/9\r 33%|###  | 3/9 [00:01<00:02, 1.5it/s]\r\xff"
    assert str(Completion().update(log)) == "3 of 9 steps"
