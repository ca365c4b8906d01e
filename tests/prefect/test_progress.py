"""How far a training has come, told from lines of its log."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_gpualert.progress import Progress, epoch_of_total, newest_lines, step_of_total

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
def test_steps_are_told(name: str) -> None:
    """What frameworks and people print of their steps is understood."""
    line, told = STEPS[name]
    assert step_of_total(line) == told


@pytest.mark.parametrize("name", NO_STEPS)
def test_other_counts_are_no_steps(name: str) -> None:
    """What counts something else than the training tells nothing of it."""
    assert step_of_total(NO_STEPS[name]) is None


@pytest.mark.parametrize("name", EPOCHS)
def test_epochs_are_told(name: str) -> None:
    """An epoch that is named has begun; of a bar of epochs that many are done."""
    line, told = EPOCHS[name]
    assert epoch_of_total(line) == told


def test_steps_are_a_share_of_their_epoch() -> None:
    """Within epochs the steps begin anew, and the whole never goes back."""
    progress = Progress()
    assert progress.percent is None
    seen: list[float | None] = []
    for line in ("Epoch 1/4", "10/20 [==>..]", "20/20 [=====]", "Epoch 2/4", "10/20 [==>..]"):
        progress.take([line])
        seen.append(progress.percent)
    assert seen == [0.0, 12.5, 25.0, 25.0, 37.5]
    assert str(progress) == "1 of 4 epochs, 10 of 20 steps"


def test_only_the_end_of_a_log_is_read(tmp_path: Path) -> None:
    """The newest lines, and each drawing of a bar, of a log of any size."""
    log = tmp_path / "stderr.log"
    log.write_bytes(b"step 1/9\n" + b"x" * (1 << 20) + b"\nstep 2/9\r10%|# | 3/9 [a\r\xff")
    assert newest_lines(str(log))[1:] == ["step 2/9", "10%|# | 3/9 [a", "\ufffd"]
