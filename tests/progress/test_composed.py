"""Logs in the documented formats of frameworks that do not install here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpualert_common.diagnose.run_metrics import count_saves
from gpualert_common.progress import Progress, Start, TrainingEndKind, determine_start
from tests.progress.composed.compose import INTERVAL, RESUMED_AT, TOTAL, VARIANTS, compose
from tests.progress.confusion import PAGE, page
from tests.progress.reading import folders, read, read_folder, saved_steps, summarize

COMPOSED = {folder.name: folder for folder in folders("composed")}
FRAMEWORKS = {
    "axolotl": ("transformers", "axolotl"),
    "deepspeed-scaling": ("deepspeed", None),
    "keras2": ("keras", None),
    "llama-factory": ("transformers", "llama_factory"),
    "llama-factory-log": ("transformers", "llama_factory"),
    "megatron": ("megatron", None),
    "nemo": ("nemo", None),
    "nemo1": ("nemo", None),
    "orbit": ("tensorflow", "orbit"),
    "tf-estimator": ("tensorflow", None),
    "torchtitan": ("torchtitan", None),
    "unsloth": ("transformers", "unsloth"),
}
CASES = [f"{name}-{variant}" for name in FRAMEWORKS for variant in VARIANTS]


def of(name: str) -> Progress:
    """The progress of a composed log."""
    return read_folder(COMPOSED[name])


def test_logs_are_those_of_the_composer() -> None:
    """The files are exactly those that the composer writes."""
    here = Path(__file__).parent / "composed"
    written = compose()
    assert {path: (here / path).read_bytes() for path in written} == written
    assert set(COMPOSED) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_progress_of_a_log(name: str) -> None:
    """The framework is recognised, and the steps and the start are those that were composed."""
    framework, _, variant = name.rpartition("-")
    summary = summarize(of(name))
    assert (summary.framework, summary.flavour) == FRAMEWORKS[framework]
    assert summary.start is (Start.RESUMED if variant == "resumed" else Start.FRESH)
    behind = 1 if framework.startswith("nemo") else 0
    assert summary.first_step is not None
    if framework == "keras2":
        assert summary.first_step == (201 if variant == "resumed" else 1)
    elif variant == "undertrained":
        assert (summary.first_step, summary.last_step) == (1 - behind, 2 - behind)
    else:
        first = RESUMED_AT + INTERVAL if variant == "resumed" else INTERVAL
        assert summary.first_step == first - behind
    if (framework, variant) != ("tf-estimator", "nan") and variant != "undertrained":
        assert summary.last_step == TOTAL - behind


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_nan(framework: str) -> None:
    """A loss or a gradient of NaN is counted; a healthy log has a count of 0."""
    assert of(f"{framework}-healthy").counts.non_finite == 0
    progress = of(f"{framework}-nan")
    has_nan = progress.counts.non_finite > 0
    assert has_nan or TrainingEndKind.DIVERGED in [one.kind for one in progress.endings]


@pytest.mark.parametrize(
    "framework", ["megatron", "nemo", "torchtitan", "deepspeed-scaling", "orbit"]
)
def test_markers_of_a_fresh_start(framework: str) -> None:
    """A framework's message that there is nothing to resume is a marker of a fresh start."""
    says = {marker.says for marker in of(f"{framework}-scratch").markers}
    assert says == {Start.FRESH}


@pytest.mark.parametrize(
    "framework",
    ["megatron", "nemo", "torchtitan", "tf-estimator", "axolotl", "llama-factory", "orbit"],
)
def test_markers_of_a_resumed_run(framework: str) -> None:
    """A framework's message that it resumes is a marker of a resumed run."""
    says = {marker.says for marker in of(f"{framework}-resumed").markers}
    assert says == {Start.RESUMED}


@pytest.mark.parametrize(
    "framework", ["megatron", "torchtitan", "nemo", "deepspeed-scaling", "orbit"]
)
def test_checkpoints(framework: str) -> None:
    """Each save is one checkpoint with its step."""
    assert saved_steps(of(f"{framework}-healthy")) == [100, 200, 300, 400]


def test_counters_of_megatron() -> None:
    """Megatron's counters of skipped and NaN iterations add up, and points without a loss have a
    gradient of NaN.
    """
    progress = of("megatron-nan")
    assert progress.counts.nan_iterations == 260
    assert progress.counts.skipped_steps == 260
    assert progress.points[-1].loss is None
    assert not progress.points[-1].is_finite


def test_loss_scaling() -> None:
    """Overflows at the start are counted and harmless; an exhausted loss scale is an end."""
    assert of("deepspeed-scaling-healthy").counts.overflows == 2
    assert of("deepspeed-scaling-healthy").counts.non_finite == 0
    endings = of("deepspeed-scaling-nan").endings
    assert [one.kind for one in endings] == [TrainingEndKind.DIVERGED]


def test_times_of_the_lines() -> None:
    """Timestamps of the lines become times, at the same distance."""
    points = of("megatron-healthy").points
    assert points[0].at is not None
    assert points[1].at is not None
    assert points[1].at - points[0].at == 100


def test_evaluations() -> None:
    """Validation lines are separate from the training."""
    for framework in ("megatron", "torchtitan", "tf-estimator", "orbit"):
        assert [point.step for point in of(f"{framework}-healthy").evals] == [100, 200, 300, 400]


def test_a_banner_has_the_steps() -> None:
    """Unsloth's banner has the planned numbers of steps and epochs."""
    counts = of("unsloth-undertrained").counts
    assert (counts.last_step, counts.total_steps, counts.total_epochs) == (2, 400, 2)


def test_resumed_by_its_epochs() -> None:
    """A Keras training that begins in epoch 5 was resumed, by its header and its steps."""
    assert len(determine_start(of("keras2-resumed")).because) == 2


def test_confusion_table_is_current() -> None:
    """The table of what all logs are read as is the one that its program writes."""
    assert PAGE.read_text() == page()


def test_orbit_prints_each_message_twice() -> None:
    """Orbit prints to its log and to stdout; both in one file make one series."""
    log = (COMPOSED["orbit-healthy"] / "output.log").read_text()
    plain = re.sub(r"(?m)^I1120 .*controller.py:53\] ", "", log)
    progress = read((log + plain).encode())
    assert [one.step for one in progress.points] == list(range(10, 401, 10))
    assert count_saves(progress) == 4
