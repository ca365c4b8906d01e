"""Single lines and short logs: steps, and lines that only look like steps."""

from __future__ import annotations

import math

import pytest

from gpualert_common.progress import Progress, Start, TrainingEndKind, determine_start
from tests.progress.reading import read

ONE_STEP = {
    "step 10 loss 0.3": (10, None, None, 0.3),
    "step=10, loss=0.3": (10, None, None, 0.3),
    "Step 10/500: train_loss = 0.3": (10, 500, None, 0.3),
    "iter 100: loss 3.2, time 20ms": (100, None, None, 3.2),
    "[epoch 1, batch 200] loss: 1.2": (200, None, 1, 1.2),
    "Epoch: [0][ 10/100]\tTime 0.1 (0.2)\tLoss 1.2e+00 (1.3e+00)": (10, None, 0, 1.2),
    "Epoch [2/5], Step [100/600], Loss: 0.25": (100, 600, 2, 0.25),
    "epoch 3 | step 120 | loss 0.5 | val_loss 0.6": (120, None, 3, 0.5),
    "Train Epoch: 1 [640/60000 (1%)]\tLoss: 0.3": (640, None, 1, 0.3),
    "{'step': 10, 'loss': 0.3}": (10, None, None, 0.3),
    '{"epoch": 1, "step": 10, "train_loss": "0.3"}': (10, None, 1, 0.3),
    "global_step=30 batch=2 loss=0.5": (30, None, None, 0.5),
    "[2026-01-02 03:04:05] INFO train: update 7 - loss: 1.5": (7, None, None, 1.5),
    "\x1b[1mstep\x1b[0m \x1b[36m7\x1b[0m loss \x1b[31m1.5\x1b[0m": (7, None, None, 1.5),
    "completed step: 4, seconds: 1.2, TFLOP/s/device: 3.1, loss: 10.5": (4, None, None, 10.5),
    "step 5 loss_a 0.1 loss_b 0.2 total_loss 0.3 best_loss 0.05": (5, None, None, 0.3),
    "step 5 | lr 0.1 | loss scale: 65536 | loss 0.3": (5, None, None, 0.3),
    "step 1,250 loss 0.3": (1250, None, None, 0.3),
    "step1: loss 0.3": (1, None, None, 0.3),
    "step 3 contrastive loss 0.3": (3, None, None, 0.3),
    "step 3 loss -1.5e-03": (3, None, None, -0.0015),
}


@pytest.mark.parametrize("line", ONE_STEP)
def test_a_line_of_a_step(line: str) -> None:
    """A line with a step and a loss gives one point with these values."""
    (point,) = read(f"{line}\n".encode()).points
    assert (point.step, point.total_steps, point.epoch, point.loss) == ONE_STEP[line]


def test_other_values_of_a_line() -> None:
    """Rate, norm, speed and time are in the point, in seconds and per second."""
    line = b"step 5 loss 0.3 lr 1.5e-4 grad_norm 0.7 1,250.5 tok/s 12ms/step\n"
    (point,) = read(line).points
    assert (point.learning_rate, point.grad_norm) == (1.5e-4, 0.7)
    assert (point.throughput, point.throughput_unit) == (1250.5, "tokens/s")
    assert point.step_s == pytest.approx(0.012)


NOTHING = {
    "a configuration": "max_steps: 500\nlogging_steps=10\nloss_scale: 128\nlearning_rate: 5e-5\n"
    "warmup steps: 100\ntotal_steps: 1000\nseed: 3\n",
    "arguments": "Namespace(steps=10, loss='mse', loss_weight=0.5, epochs=3, lr=0.1)\n",
    "options": "  --steps 100 --loss-weight 0.5 --epochs 3 loss 0.1\n",
    "megatron's arguments": "  check_for_nan_in_loss_and_grad ........ True\n"
    "  loss_scale ........ None\n  train_iters ........ 500\n  epoch ........ 3\n",
    "a table of metrics": "| step | loss | acc |\n|------|------|-----|\n| 10 | 0.3 | 0.9 |\n"
    "| 20 | 0.2 | 0.95 |\n",
    "a monitor": "|  Volatile Uncorr. ECC | GPU-Util |\n|  45%   54C    P0  250W / 400W | "
    "12345MiB / 40960MiB |  98% |\n",
    "words": "loss of signal at node 3\nthe steps of finance: 2 in step with 3\nno step was lost\n",
    "code": "    loss = criterion(output, target)\n    loss = 0.5 * loss_a\n    step = step + 1\n",
    "a build": "Step 3/12 : RUN pip install torch\n[5/10] Building CXX object a.o\n",
    "a download": "Downloading: 100%|####| 4/4 [00:01<00:00, 3.1it/s]\n"
    "Map: 100%|####| 1000/1000 [00:01<00:00, 900.1 examples/s]\n",
    "an advice": "to resume from a checkpoint set --resume; training from scratch is the default\n",
    "a summary": "best loss 0.3 at step 100\nfinal loss: 0.2\nlowest loss 0.1\n",
    "trials": "trial 3 finished with value: 0.3 and parameters: {'lr': 0.1, 'loss': 'mse'}\n",
    "a traceback": 'Traceback (most recent call last):\n  File "train.py", line 12, in step\n'
    "    loss.backward()\nRuntimeError: loss is nan at step 5 of 10\n",
    "an evaluation": "{'accuracy': 0.9, 'f1': 0.8, 'samples': 100}\n",
    "a version": "step-ca 0.25.2, lossless 1.2, epoch-tools 3.1\n",
    "times": "12:00:01 epoch time 3.5 s, step time 0.2 s\n",
}


@pytest.mark.parametrize("name", NOTHING)
def test_near_misses(name: str) -> None:
    """Lines with words of a training, but about something else, give no loss."""
    progress = read(NOTHING[name].encode())
    assert [point for point in progress.points if point.loss is not None] == []
    assert progress.counts.non_finite == 0
    assert progress.markers == ()
    assert progress.checkpoints == ()


MENTIONS = "the run was saved at step {} when the loss stood at loss {}\n"


def test_a_mention_must_come_again() -> None:
    """A line that mentions a step and a loss in a sentence counts only if it is repeated."""
    once = MENTIONS.format(5, 0.5)
    assert read(once.encode()).points == ()
    often = "".join(MENTIONS.format(5 * i, 1 / i) for i in range(1, 6))
    assert [point.step for point in read(often.encode()).points] == [5, 10, 15, 20, 25]


MARKERS = {
    "=> loaded checkpoint 'out.pt' (epoch 2)": Start.RESUMED,
    "Resuming training from checkpoint out/checkpoint-40": Start.RESUMED,
    "Checkpoint detected, resuming training at out/checkpoint-40.": Start.RESUMED,
    "INFO:root:Restored state from /runs/a/step_300": Start.RESUMED,
    "=> no checkpoint found at 'out.pt'": Start.FRESH,
    "No checkpoint found, starting from scratch": Start.FRESH,
    "Training from scratch": Start.FRESH,
}


@pytest.mark.parametrize("line", MARKERS)
def test_markers_of_the_start(line: str) -> None:
    """A script's message about its start is a marker with its line."""
    (marker,) = read(f"hello\n{line}\n".encode()).markers
    assert (marker.says, marker.line) == (MARKERS[line], 2)


@pytest.mark.parametrize(
    "line",
    [
        "resume from checkpoint: None",
        "  --resume PATH  resume training from PATH",
        "if you want to resume from a checkpoint, name it",
        "resuming from: False",
        "could not find a saved checkpoint",
        "checkpoint every 10 steps",
    ],
)
def test_near_misses_of_markers(line: str) -> None:
    """Settings, help and advice about resuming are no markers."""
    assert read(f"{line}\n".encode()).markers == ()


def steps(*numbers: int, form: str = "step {} loss 0.5\n") -> Progress:
    """Return the progress of a log with these steps."""
    return read("".join(form.format(step) for step in numbers).encode())


@pytest.mark.parametrize(
    ("numbers", "start"),
    [
        ((10, 20, 30), Start.FRESH),
        ((0, 10, 20), Start.FRESH),
        ((1, 100, 200), Start.FRESH),
        ((510, 520), Start.RESUMED),
        ((20, 30), Start.RESUMED),
        ((50,), Start.UNKNOWN),
        ((1,), Start.FRESH),
    ],
)
def test_first_steps(numbers: tuple[int, ...], start: Start) -> None:
    """A training that logs every ten steps begins with 10, and a resumed one with 510."""
    assert determine_start(steps(*numbers)).start is start


def test_epochs_that_begin_late() -> None:
    """A counter that restarts in each epoch is no fresh start in the fourth epoch."""
    lines = [f"epoch {e} batch {b} loss 0.5\n" for e in (4, 5) for b in (10, 20, 30)]
    assert determine_start(read("".join(lines).encode())).start is Start.RESUMED


def test_restarts_are_segments() -> None:
    """Steps that start over begin a segment; a repeated step does not."""
    progress = steps(10, 10, 20, 20, 30, 40, 50, 20, 30, 40)
    parts = [(one.first_step, one.last_step, one.points) for one in progress.segments]
    assert parts == [(10, 50, 5), (20, 40, 3)]
    assert [point.segment for point in progress.points] == [0] * 5 + [1] * 3


def test_a_rank_that_lags() -> None:
    """A rank that prints a step after another rank printed the next begins no segment."""
    assert len(steps(10, 10, 20, 10, 20, 30, 20, 30, 40, 40).segments) == 1


def test_steps_over_epochs() -> None:
    """Counters that restart in each epoch are added up, with or without their total."""
    lines = [f"epoch {e} [{b:3d}/100] loss 0.5\n" for e in range(3) for b in (50, 100)]
    found = [point.step for point in read("".join(lines).encode()).points]
    assert found == [50, 100, 150, 200, 250, 300]
    lines = [f"[epoch {e}, batch {b}] loss: 0.5\n" for e in (1, 2) for b in (50, 100)]
    found = [point.step for point in read("".join(lines).encode()).points]
    assert found == [50, 100, 150, 200]


def test_a_step_that_continues_over_epochs() -> None:
    """A step that goes on from epoch to epoch is not added up."""
    lines = [f"epoch {i // 4} step {10 * i} loss 0.5\n" for i in range(12)]
    found = [point.step for point in read("".join(lines).encode()).points]
    assert found == [10 * i for i in range(12)]


def test_two_lines_of_one_step() -> None:
    """A logger's line and a dictionary of the same step are one point with the values of both."""
    log = b"".join(
        b"step %d loss 0.5\n{'step': %d, 'loss': 0.5, 'lr': 0.1}\n" % (i, i) for i in (1, 2, 3)
    )
    assert [point.step for point in read(log).points] == [1, 2, 3]


@pytest.mark.parametrize("word", ["nan", "NaN", "inf", "-inf", "Infinity"])
def test_numbers_that_are_not_finite(word: str) -> None:
    """NaN and infinity in all their spellings are losses that are not finite."""
    progress = read(f"step 1 loss 0.5\nstep 2 loss {word}\n".encode())
    assert progress.counts.non_finite == 1
    assert not math.isfinite(progress.points[1].loss or 0.0)


def test_a_log_without_a_training() -> None:
    """The progress of a log without a training is unverifiable."""
    progress = read(b"hello\nworld\n")
    assert progress.framework is None
    assert progress.points == ()
    assert progress.unverifiable


@pytest.mark.parametrize("value", ["0.4", "nan"])
def test_a_bar_repeats_the_last_evaluation(value: str) -> None:
    """The loss of an evaluation that a bar repeats until the next one counts once."""
    bar = " {0}%|#  | {0}/100 [00:{0}<00:50, 1.0it/s, loss=0.{0}, val_loss={1}]\r"
    progress = read("".join(bar.format(i, value) for i in range(10, 50)).encode())
    assert (len(progress.points), progress.counts.evals) == (40, 1)


OF_TRL = {
    "'reward': 0.4, 'reward_std': 0.1, 'kl': 0.01": True,
    "'objective/rlhf_reward': 0.4, 'objective/kl': 0.01": True,
    "'rewards/chosen': 0.4, 'rewards/rejected': 0.1, 'rewards/margins': 0.3": False,
    "'mean_token_accuracy': 0.4, 'num_tokens': 1024.0": False,
}


CONTESTED = {
    "step 5 Loss_D: 0.3 Loss_G: 2.5": True,
    "[Epoch 3/9] [Batch 5/90] [D loss: 0.3] [G loss: 0.7]": True,
    "step 5 generator_loss 0.3": True,
    "step:5 - actor/pg_loss:0.3 - critic/rewards/mean:0.7": True,
    "step 5 loss 0.3 mean_reward=1.5": True,
    "Episode step 5 loss: 0.3 | return: 12.0": True,
    "step 5 loss 0.3 rewards/chosen 1.5": False,
    "step 5 loss value: 0.3": False,
    "step 5 vq_loss 0.3 kl_loss 0.1 loss 0.4": False,
    "step 5 loss 0.3 grad 0.1 d_model 512": False,
}


@pytest.mark.parametrize("line", CONTESTED)
def test_losses_that_need_not_fall(line: str) -> None:
    """Losses of adversaries, and losses next to a reward, need not fall."""
    found = read("".join(f"{line}\n".replace("5", str(n), 1) for n in (5, 6, 7)).encode())
    assert found.points
    assert found.by_reward is CONTESTED[line]


@pytest.mark.parametrize(
    "line",
    [
        "Early stopping at epoch 12",
        "2026-01-02 03:04:05 - INFO - Early stopping triggered after 400 steps",
        "No improvement for 10 epochs. Stopping.",
        "EarlyStopping: Training stopped early as no improvement was observed.",
        "Target accuracy reached, stopping training.",
    ],
)
def test_messages_of_an_early_stop(line: str) -> None:
    """A message about an early stop is an end of that kind."""
    (ending,) = read(f"step 5 loss 0.3\n{line}\n".encode()).endings
    assert ending.kind is TrainingEndKind.EARLY_STOP


@pytest.mark.parametrize(
    "line",
    [
        "early_stopping: True",
        "EarlyStopping counter: 3 out of 10",
        "enable early stopping at 5 epochs with --patience 5",
        "the server is stopping",
        "before stopping training, save a checkpoint",
    ],
)
def test_near_misses_of_an_early_stop(line: str) -> None:
    """Settings and counters are no end."""
    assert read(f"step 5 loss 0.3\n{line}\n".encode()).endings == ()


@pytest.mark.parametrize(
    ("step", "kind"), [(0, TrainingEndKind.NO_BATCHES), (70, TrainingEndKind.INTERRUPTED)]
)
def test_a_trainer_without_a_sample(step: int, kind: TrainingEndKind) -> None:
    """Transformers prints that there are no samples, and exits with 0."""
    text = "There seems not to be a single sample in your epoch_iterator, stopping training at step"
    (ending,) = read(f"{text} {step}! This is expected if ...\n".encode()).endings
    assert ending.kind is kind


@pytest.mark.parametrize("also", OF_TRL)
def test_methods_that_optimise_a_reward(also: str) -> None:
    """The loss of a method that optimises a reward need not fall; other losses should."""
    found = read(f"{{'loss': 0.01, 'learning_rate': 1e-06, {also}, 'epoch': 0.5}}\n".encode())
    assert found.flavour == "trl"
    assert found.by_reward is OF_TRL[also]


def test_the_end_of_torchtitan() -> None:
    """Torchtitan's last line is the end of the training."""
    lead = "[rank0]:[titan] 2025-01-28 08:38:11,294 - root - INFO - "
    lines = [f"step: {step}  loss: {9 - step:.4f}  grad_norm: 1.0  tps: 9" for step in (1, 2, 3)]
    log = "".join(f"{lead}{line}\n" for line in [*lines, "Training completed"])
    (ending,) = read(log.encode()).endings
    assert ending.kind is TrainingEndKind.FINISHED


def test_an_epoch_that_is_drawn_again() -> None:
    """An epoch that is drawn again behind a carriage return counts once, by its last value."""
    drawn = "".join(
        "".join(f"\rEpoch {epoch}/3: loss {epoch - part / 10:.2f}" for part in range(5)) + "\n"
        for epoch in (1, 2, 3)
    )
    progress = read(drawn.encode())
    assert [(one.epoch, one.loss) for one in progress.points] == [(1, 0.6), (2, 1.6), (3, 2.6)]


def test_steps_without_a_loss() -> None:
    """Iterations without a loss count as steps where the losses are those of epochs."""
    lines = []
    for epoch in range(1, 4):
        lines += [f"iter {step}/300 time 0.2 data 0.01" for step in _of_epoch(epoch)]
        lines.append(f"epoch {epoch} loss {3 - epoch / 2}")
    counts = read("\n".join(lines).encode()).counts
    assert (counts.first_step, counts.last_step, counts.total_steps) == (1, 300, 300)
    assert (counts.points, counts.last_epoch) == (3, 3)


def _of_epoch(epoch: int) -> range:
    return range(100 * epoch - 99, 100 * epoch + 1)


def test_last_step_is_the_end_of_the_bar() -> None:
    """A step that is estimated from a rounded epoch is not beyond the end of the bar."""
    lines = []
    for step in range(20, 101, 20):
        lines.append(f"{{'loss': 0.5, 'learning_rate': 0.1, 'epoch': {step / 33.6:.2f}}}")
        if step < 100:
            lines.append(f" {step}%|###  | {step}/100 [00:{step}<00:50,  2.1it/s]")
    lines.append("{'loss': 0.4, 'learning_rate': 0.1, 'epoch': 3.02}")
    lines.append("{'train_runtime': 31.2, 'train_samples_per_second': 9.1, 'epoch': 3.02}")
    progress = read(("\n".join(lines) + "\n").encode())
    assert progress.counts.last_step == 100
    assert max(one.step or 0 for one in progress.points) == 100


@pytest.mark.parametrize(
    ("line", "accuracy"),
    [
        ("step 5 loss 0.3 acc 0.25", 0.25),
        ("step 5 loss 0.3 accuracy: 25%", 0.25),
        ("step 5 loss 0.3 Acc@1 25.0", 25.0),
        ("step 5 loss 0.3 accuracy: 250/1000", 0.25),
    ],
)
def test_accuracy(line: str, accuracy: float) -> None:
    """An accuracy is a share, or the number as it is printed."""
    (point,) = read(f"{line}\n".encode()).points
    assert point.accuracy == accuracy


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("num_classes: 10", [10]),
        ("Namespace(lr=0.1, num_labels=3, seed=1)", [3]),
        ('  "vocab_size": 32000,', [32000]),
        ("found vocab_size = 65 (inside data/meta.pkl)", [65]),
        ("  padded_vocab_size ............... 50304", [50304]),
        ("> padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)", [50257, 50304]),
        ("Found 3670 files belonging to 5 classes.", [5]),
        ("num_classes: 0.5", []),
        ("3 classes are left", []),
    ],
)
def test_numbers_of_classes(line: str, counts: list[int]) -> None:
    """The numbers of classes and words that a log states are kept, with their lines."""
    outputs = read(f"{line}\n".encode()).outputs
    assert [one.count for one in outputs] == counts
    assert all(one.text == line.strip() for one in outputs)
