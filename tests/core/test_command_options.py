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
    """Name and value are the same in every form, also in a script for a shell."""
    found = dict(parse_options(command))
    assert found["resume_from"] == "out/last.ckpt"
    assert found["v"] in ("", "|")


def test_not_a_script() -> None:
    """A word that is no option has no name; an unfinished quotation is read word by word."""
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
def test_commands_without_a_training(command: str, is_one: bool) -> None:
    """A command is no training if an option or the script's name shows that."""
    assert is_evaluation(command.split()) is is_evaluation(["bash", "-c", command]) is is_one
