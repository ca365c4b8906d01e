"""The time that a training has left, by its log: a trace is refused only if its end is near."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common.live_facts import read_live_progress
from gpualert_common.record import INDEX, SPEC, Record
from gpualert_common.record.record import describe
from gpualert_common.spec import RunSpec

BEGAN_AT = 1_790_000_000.0
STEP_S = 0.5
TOTAL = 200
LOG = "output.log"

Line = Callable[[int], str]


def draw_bar(step: int) -> str:
    """Return a state of a bar of tqdm; the complete one is followed by the next bar's line."""
    end = "\n" if step == TOTAL else ""
    return f"\r{step // 2:3d}%|####   | {step}/{TOTAL} [00:10<00:20,  2.00it/s]{end}"


def print_step(step: int) -> str:
    """Return a line with its loss."""
    return f"step {step}/{TOTAL} loss {1 + 1 / (step + 1):.4f}\n"


def print_epoch_and_step(step: int) -> str:
    """Return a line with its epoch, which the counter of the steps adds up."""
    return f"epoch 9 {print_step(step)}"


def estimate(path: Path, lines: list[str], waited_s: float = 0.0) -> float | None:
    """Return the time left after these lines, one each half second, and a silence."""
    record = Record.create(str(path / "record"), sync=False)
    spec = describe(RunSpec(("python", "train.py")), record, created_at=BEGAN_AT, host="node7")
    record.write_json(SPEC, {**spec, "logs": [LOG]})
    ends = [len("".join(lines[: number + 1])) for number in range(len(lines))]
    index = [f"{STEP_S * number} {end}\n" for number, end in enumerate(ends, 1)]
    Path(record.log_path(LOG)).write_text("".join(lines), newline="")
    Path(record.log_path(INDEX)).write_text("".join(index))
    left_s = read_live_progress(record).estimate_left_s(BEGAN_AT + STEP_S * len(lines) + waited_s)
    record.close()
    return left_s


@pytest.mark.parametrize("line", [draw_bar, print_step])
@pytest.mark.parametrize(
    ("last", "waited_s", "left_s"),
    [(100, 0.0, 50.0), (100, 30.0, 20.0), (100, 90.0, 0.0), (100, -60.0, 50.0), (200, 0.0, 0.0)],
    ids=["half", "silent since", "overdue", "clock behind", "at its last step"],
)
def test_time_left(tmp_path: Path, line: Line, last: int, waited_s: float, left_s: float) -> None:
    """The time since the last line counts, and a training at its last step has none left."""
    lines = [line(step) for step in range(1, last + 1)]
    assert estimate(tmp_path, lines, waited_s) == pytest.approx(left_s, abs=STEP_S)


@pytest.mark.parametrize("last", [120, TOTAL])
@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("line", [draw_bar, print_step, print_epoch_and_step])
def test_total_of_an_epoch(tmp_path: Path, line: Line, every: int, last: int) -> None:
    """The end is unknown if the steps came to the total before, and began again."""
    epoch = [line(step) for step in range(every, TOTAL + 1, every)]
    begun = [line(step) for step in range(every, last + 1, every)]
    assert estimate(tmp_path, [*epoch, *epoch, *begun]) is None


def test_training_that_began_again(tmp_path: Path) -> None:
    """A training that began again before its end has the time that its second attempt needs."""
    lines = [print_step(step) for step in (*range(1, 120), *range(1, 101))]
    assert estimate(tmp_path, lines) == pytest.approx(50.0, abs=STEP_S)


@pytest.mark.parametrize("lines", [[], ["step 5 loss 0.5\n"], ["step 5/0 loss 0.5\n"]])
def test_training_without_a_total(tmp_path: Path, lines: list[str]) -> None:
    """A log without a number of steps says nothing of the end."""
    assert estimate(tmp_path, lines) is None
