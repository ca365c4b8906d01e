"""Tests with logs of trainings that really ran.

``captured/README.md`` lists the program of each log.  Numbers of points that depend on the speed of
the machine are left out (None).
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.progress import Phase, Progress, Start, TrainingEndKind, determine_start
from tests.progress.captured.capture import CASES, HERE, page
from tests.progress.reading import folders, read_folder, saved_steps, summarize

F, R, U = Start.FRESH, Start.RESUMED, Start.UNKNOWN
HF, PL, DS, KERAS, TF, LOOP = (
    "transformers",
    "lightning",
    "deepspeed",
    "keras",
    "tensorflow",
    "generic",
)

# framework, start, (first, last, all steps), points, evaluations, not finite
EXPECTED: dict[str, tuple[Any, ...]] = {
    "deepspeed-breakdown": (DS, F, (10, 30, None), 3, 0, 0),
    "deepspeed-healthy": (DS, F, (10, 100, None), 10, 0, 0),
    "deepspeed-nan": (DS, F, (10, 100, None), 10, 0, 10),
    "deepspeed-no-loss": (DS, F, (10, 100, None), 11, 0, 0),
    "deepspeed-resumed": (DS, R, (60, 100, None), 5, 0, 0),
    "deepspeed-scratch": (DS, F, (10, 100, None), 10, 0, 0),
    "deepspeed-undertrained": (DS, F, (0, 0, None), 1, 0, 0),
    "hf5-two-ranks": (HF, F, (5, 20, 20), 4, 0, 0),
    "keras-jax-healthy": (KERAS, F, (20, 80, 80), 4, 0, 0),
    "keras-v1-backup": (KERAS, R, (61, 80, 80), None, 0, 0),
    "keras-v1-healthy": (KERAS, F, (1, 80, 80), None, 4, 0),
    "keras-v1-nan": (KERAS, F, (1, 80, 80), None, 0, None),
    "keras-v1-resumed": (KERAS, R, (41, 80, 80), None, 0, 0),
    "keras-v1-scratch": (KERAS, F, (1, 80, 80), None, 0, 0),
    "keras-v1-terminated": (KERAS, F, (1, 20, 80), None, 0, 1),
    "keras-v1-undertrained": (KERAS, F, (1, 20, None), None, 0, 0),
    "keras-v2-backup": (KERAS, R, (80, 80, 80), 1, 0, 0),
    "keras-v2-healthy": (KERAS, F, (20, 80, 80), 4, 4, 0),
    "keras-v2-nan": (KERAS, F, (20, 80, 80), 4, 0, 4),
    "keras-v2-resumed": (KERAS, R, (60, 80, 80), 2, 0, 0),
    "keras-v2-scratch": (KERAS, F, (20, 80, 80), 4, 0, 0),
    "keras-v2-terminated": (KERAS, F, (20, 20, 80), 1, 0, 1),
    "keras-v2-undertrained": (KERAS, F, (20, 20, None), 1, 0, 0),
    "loop-colour": (LOOP, F, (10, 300, None), 30, 0, 0),
    "loop-dict": (LOOP, F, (10, 300, None), 30, 0, 0),
    "loop-epoch": (LOOP, F, (None, None, None), 3, 3, 0),
    "loop-imagenet": (LOOP, F, (10, 300, None), 30, 0, 0),
    "loop-json": (LOOP, F, (10, 300, None), 30, 0, 0),
    "loop-keyed": (LOOP, F, (10, 300, 300), 30, 0, 0),
    "loop-logging": (LOOP, F, (10, 300, None), 30, 0, 0),
    "loop-mnist": (LOOP, F, (72, 2392, None), 30, 0, 0),
    "loop-nan": (LOOP, F, (10, 300, None), 30, 0, 30),
    "loop-nan-tqdm": (LOOP, F, (1, 100, 100), 100, 0, 99),
    "loop-nano": (LOOP, F, (10, 300, None), 30, 6, 0),
    "loop-ranks": (LOOP, F, (10, None, None), None, 0, 0),
    "loop-ranks-bare": (LOOP, F, (10, 300, None), 30, 0, 0),
    "loop-ranks-tee": (LOOP, F, (10, 300, None), 30, 0, 0),
    "loop-resumed": (LOOP, R, (210, 300, None), 10, 0, 0),
    "loop-resumed-imagenet": (LOOP, R, (110, 200, None), 10, 0, 0),
    "loop-scratch": (LOOP, F, (10, 300, None), 30, 0, 0),
    "loop-step": (LOOP, F, (10, 300, None), 30, 0, 0),
    "loop-tqdm": (LOOP, F, (1, 300, 300), 300, 0, 0),
    "loop-trials": (LOOP, F, (10, 100, None), 30, 0, 0),
    "loop-tutorial": (LOOP, F, (10, 300, None), 30, 0, 0),
    "loop-two-lines": (LOOP, F, (10, 300, 300), 30, 0, 0),
    "loop-undertrained": (LOOP, F, (1, 1, None), 1, 0, 0),
    "pl26-rich": (PL, U, (120, 120, None), 1, 1, 0),
    "pl26-rich-live": (PL, F, (None, 120, None), None, None, 0),
    "tf-healthy": (TF, F, (0, None, None), 10, 0, 0),
    "tf-nan": (TF, F, (0, 0, None), 1, 0, 0),
    "tf-resumed": (TF, R, (100, None, None), 5, 0, 0),
    "tf-scratch": (TF, F, (None, None, None), 10, 0, 0),
    "tf-undertrained": (TF, F, (0, 0, None), 1, 0, 0),
}
for release in ("hf4", "hf5"):
    EXPECTED |= {
        f"{release}-apart": (HF, F, (5, 60, 60), 12, 3, 0),
        f"{release}-budget-apart": (HF, F, (1, 3, 60), 3, 0, 0),
        f"{release}-buffered": (HF, F, (5, 60, 60), 12, 0, 0),
        f"{release}-healthy": (HF, F, (5, 60, 60), 12, 3, 0),
        f"{release}-info": (HF, F, (5, 60, 60), 12, 0, 0),
        f"{release}-info-resumed": (HF, R, (45, 60, 60), 4, 0, 0),
        f"{release}-killed": (HF, F, (5, None, 60), 8, 0, 0),
        f"{release}-nan": (HF, F, (5, 60, 60), 12, 0, 12),
        f"{release}-no-bar": (HF, F, (5, 60, None), 12, 3, 0),
        f"{release}-no-bar-resumed": (HF, R, (None, None, None), 4, 0, 0),
        f"{release}-resumed": (HF, R, (45, 60, 60), 4, 0, 0),
        f"{release}-resumed-apart": (HF, R, (45, 60, 60), 4, 0, 0),
        f"{release}-scratch": (HF, F, (5, 60, 60), 12, 0, 0),
        f"{release}-undertrained": (HF, F, (1, 2, 2), 2, 0, 0),
        f"trl-{release}-dpo": (HF, F, (2, 30, 30), 15, 0, 0),
        f"trl-{release}-nan": (HF, F, (2, 30, 30), 15, 0, 15),
        f"trl-{release}-sft": (HF, F, (2, 30, 30), 15, 0, 0),
    }
EXPECTED["trl-hf5-resumed"] = (HF, R, (22, 40, 40), 10, 0, 0)
for release, stuck in (("pl24", 0), ("pl26", 1)):
    EXPECTED |= {
        f"{release}-nan": (PL, F, (8, 120, None), 15, 1, 15),
        f"{release}-no-bar": (PL, U, (None, None, None), 0, 0, 0),
        f"{release}-no-bar-prints": (PL, F, (0, 119, None), 120, 0, 0),
        f"{release}-no-batches": (PL, U, (None, None, None), 0, 0, 0),
        f"{release}-resumed": (PL, R, (88, 120, None), 5, 1, 0),
        f"{release}-scratch": (PL, F, (8, 120, None), 15, 3, 0),
        f"{release}-tqdm": (PL, F, (8, 120, None), 15, 3, 0),
        f"{release}-tqdm-both": (PL, F, (8, 120, None), 15, 3, 0),
        f"{release}-undertrained": (PL, F, (stuck, stuck, None), 1, 0, 0),
    }
CAPTURED = {folder.name: folder for folder in folders("captured")}


def of(name: str) -> Progress:
    """The progress of a captured log."""
    return read_folder(CAPTURED[name])


def test_every_log_is_expected() -> None:
    """Each captured log is in the table and has its command, and the page lists them all."""
    assert set(CAPTURED) == set(EXPECTED) == set(CASES)
    assert (HERE / "README.md").read_text() == page()


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_progress_of_a_training(name: str) -> None:
    """Framework, start, steps, points and NaNs of a real log are those of its training."""
    framework, start, steps, *counts = EXPECTED[name]
    summary = summarize(of(name))
    assert (summary.framework, summary.start) == (framework, start)
    found = (summary.first_step, summary.last_step, summary.total_steps)
    assert all(want in (None, got) for want, got in zip(steps, found, strict=True)), found
    amounts = (summary.points, summary.evals, summary.non_finite)
    assert all(want in (None, got) for want, got in zip(counts, amounts, strict=True)), amounts


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_points_are_in_order_and_cited(name: str) -> None:
    """Points ascend within a segment, and each is on the line that it cites."""
    progress = of(name)
    logs = {path.name: path.read_bytes() for path in CAPTURED[name].glob("*.log")}
    for before, after in pairwise(progress.points):
        if before.segment == after.segment and before.position is not None:
            assert after.position is not None
            assert before.position <= after.position
    for point in (*progress.points, *progress.evals):
        data = logs[point.file]
        assert data[: point.offset].count(b"\n") == point.line - 1
        assert point.offset == 0 or data[point.offset - 1 : point.offset] in (b"\n", b"\r")


@pytest.mark.parametrize("name", ["hf4-healthy", "hf5-healthy", "hf5-apart", "hf5-no-bar"])
def test_steps_of_the_trainer(name: str) -> None:
    """The Trainer's dictionaries get their exact steps, by the bar or by the epochs."""
    progress = of(name)
    assert [point.step for point in progress.points] == list(range(5, 61, 5))
    assert [point.step for point in progress.evals] == [20, 40, 60]
    assert {point.phase for point in progress.evals} == {Phase.EVAL}


@pytest.mark.parametrize("name", ["hf4-nan", "hf5-nan", "trl-hf5-nan"])
def test_nan_behind_a_loss_of_zero(name: str) -> None:
    """A loss of 0 with a gradient of NaN is not finite."""
    last = of(name).points[-1]
    assert last.loss == 0
    assert last.grad_norm is not None
    assert math.isnan(last.grad_norm)


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("hf5-healthy", [20, 40, 60]),
        ("hf5-info", [30, 60]),
        ("hf4-info", [30, 60]),
        ("keras-v1-healthy", [20, 40, 60, 80]),
        ("deepspeed-healthy", [50, 100]),
        ("tf-healthy", [0, 100, 200]),
    ],
)
def test_checkpoints(name: str, steps: list[int]) -> None:
    """Each save is one checkpoint with its step."""
    assert saved_steps(of(name)) == steps


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("hf5-healthy", TrainingEndKind.SUMMARY),
        ("pl26-tqdm", TrainingEndKind.FINISHED),
        ("pl26-undertrained", TrainingEndKind.STEP_LIMIT),
        ("keras-v1-terminated", TrainingEndKind.DIVERGED),
        ("keras-v2-terminated", TrainingEndKind.DIVERGED),
        ("tf-nan", TrainingEndKind.DIVERGED),
    ],
)
def test_endings(name: str, kind: TrainingEndKind) -> None:
    """The framework's message at its end is found, with its line."""
    assert [ending.kind for ending in of(name).endings] == [kind]


def test_summary_has_its_numbers() -> None:
    """The Trainer's summary is kept as numbers."""
    (ending,) = of("hf5-healthy").endings
    assert ending.values["epoch"] == 2
    assert ending.values["train_runtime"] > 0


def test_first_move_of_a_bar() -> None:
    """A bar that moves from 0 to 45 at once, and then by a few steps, skipped the earlier steps."""
    resumed, fresh = of("hf5-resumed").jump, of("hf5-healthy").jump
    assert resumed is not None
    assert resumed.is_skip
    assert (resumed.before, resumed.total) == (0, 60)
    assert fresh is not None
    assert not fresh.is_skip


def test_markers_and_steps_agree() -> None:
    """A run that found no checkpoint to resume from prints that, and its steps agree."""
    progress = of("deepspeed-scratch")
    assert [marker.says for marker in progress.markers] == [Start.FRESH]
    beginning = determine_start(progress)
    assert beginning.start is Start.FRESH
    assert len(beginning.because) == 2


def test_lines_of_the_program_together_with_a_framework() -> None:
    """Losses that the program prints get their rate from DeepSpeed's lines of the same steps."""
    progress = of("deepspeed-healthy")
    assert progress.notes
    for point in progress.points:
        assert point.loss is not None
        assert point.learning_rate == 0.05
        assert point.throughput_unit == "samples/s"


def test_skipped_steps() -> None:
    """The number of skipped steps is DeepSpeed's own, and overflows are counted."""
    counts = of("deepspeed-nan").counts
    assert (counts.skipped_steps, counts.overflows) == (99, 99)


def test_trials_are_segments() -> None:
    """Three trainings in one log are three segments, each from its start to its end."""
    segments = of("loop-trials").segments
    assert [(one.first_step, one.last_step, one.points) for one in segments] == [(10, 100, 10)] * 3


def test_ranks_do_not_count_twice() -> None:
    """Two ranks that print each step make one series, with or without prefixes."""
    assert of("loop-ranks-tee").counts.streams == 2
    assert len(of("loop-ranks-bare").segments) == 1


def test_the_total_among_the_parts() -> None:
    """Of several losses on a line the total counts, at any position."""
    keyed, plain = of("loop-keyed"), of("loop-step")
    assert [point.loss for point in keyed.points] == [point.loss for point in plain.points]


def test_unverifiable_progress() -> None:
    """Lightning without a bar prints no progress, which is marked as unverifiable."""
    progress = of("pl26-no-bar")
    assert progress.points == ()
    assert progress.unverifiable


def test_units() -> None:
    """A counter of samples or of epochs is not taken for one of steps."""
    assert of("loop-mnist").unit == "sample"
    assert of("loop-epoch").unit == "epoch"
    assert of("loop-step").unit == "step"


def test_logs_have_no_paths_or_names() -> None:
    """No captured log contains a path of the machine that ran it, or a user's name."""
    for folder in CAPTURED.values():
        for log in folder.glob("*.log"):
            text = log.read_bytes()
            assert b"/root" not in text
            assert b"/home/" not in text
            assert str(Path(__file__).parents[2]).encode() not in text
