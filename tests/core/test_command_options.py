"""Options of a command, in every form that users write."""

from __future__ import annotations

import pytest

from gpualert_common.command_options import is_evaluation, parse_options


@pytest.mark.parametrize(
    "command",
    [
        ("python", "train.py", "--resume-from", "out/last.ckpt", "-v"),
        ("python", "train.py", "--resume_from=out/last.ckpt", "-v"),
        ("python", "train.py", "trainer.resume_from=out/last.ckpt", "-v"),
        ("bash", "-c", "cd /work; python train.py --resume-from 'out/last.ckpt' -v | tee log"),
        ("sh", "-ec", "python train.py --resume-from out/last.ckpt -v"),
    ],
    ids=["flag", "equals", "dotted", "bash", "sh"],
)
def test_forms(command: tuple[str, ...]) -> None:
    """The name is the same, and so is the value, also in what a shell is given."""
    found = dict(parse_options(command))
    assert found["resume_from"] == "out/last.ckpt"
    assert found["v"] in ("", "|")


def test_not_a_script() -> None:
    """What is no option has no name; a quotation that does not end is still read by its words."""
    assert list(parse_options(("python", "train.py", "data"))) == list(parse_options(())) == []
    assert dict(parse_options(("bash", "-c", "run --resume 'a")))["resume"] == "'a"


@pytest.mark.parametrize(
    ("command", "is_one"),
    [
        ("python tools/test.py conf.py last.pt", True),
        ("python evaluate.py", True),
        ("python main.py --eval --resume m.pt", True),
        ("python run.py mode.inference_only=True", True),
        ("python train.py --do_eval --eval-steps 100", False),
        ("python train.py --test data/test.csv", False),
        ("python train_eval.py", False),
        ("python test_env.py && python train.py", False),
    ],
)
def test_what_trains_nothing(command: str, is_one: bool) -> None:
    """An option or the script's name says so, and none that has to do with a training."""
    assert is_evaluation(command.split()) is is_evaluation(["bash", "-c", command]) is is_one
