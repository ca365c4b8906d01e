"""Real trainings by Transformers, Lightning and Keras under ``gpualert run``, and their verdicts.

The programs are those whose logs tests/progress keeps; ``make`` sets up what they need.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.record import Record
from tests.supervised import Lab

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / ".venv-frameworks" / "bin" / "python"
PROGRAMS = ROOT / "tests" / "progress" / "captured" / "programs"
LIMIT_S = 300.0
"""Importing them takes seconds, on a machine with a cold disk a minute."""


@dataclass(frozen=True, slots=True)
class Training:
    """A program with its options, the right causes, and the earlier run in its directory."""

    command: str
    causes: tuple[str, ...]
    before: str = ""


HF = "hf_trainer.py --log-every 1"
PL = "lightning_fit.py --bar tqdm --rate 0.002 --epochs 5"
KERAS = "keras_fit.py --verbose 2 --rate 0.005 --epochs 30"
DIVERGED = ("not_learning", "nan_loss")

TRAININGS = {
    "transformers-healthy": Training(HF, ("none",)),
    "transformers-diverged": Training(f"{HF} --rate 5", DIVERGED),
    "transformers-nan": Training(f"{HF} --rate 3e30", ("nan_loss",)),
    "transformers-flat": Training(f"{HF} --rate 0", ("not_learning",)),
    "transformers-undertrained": Training(f"{HF} --budget 3", ("undertrained",)),
    "lightning-healthy": Training(PL, ("none",)),
    "lightning-diverged": Training(f"{PL} --rate 0.5", DIVERGED),
    "lightning-nan": Training(f"{PL} --rate 3e30", ("nan_loss",)),
    "lightning-undertrained": Training(f"{PL} --rows 0", ("undertrained",)),
    "keras-healthy": Training(KERAS, ("none",)),
    "keras-diverged": Training(f"{KERAS} --rate 0.85", DIVERGED),
    "keras-nan": Training(f"{KERAS} --rate 3e30", ("nan_loss",)),
    "keras-undertrained": Training(f"{KERAS} --budget 1", ("undertrained",)),
}
for name, command, before, folder, file in (
    ("transformers", f"{HF} --save-every 20", "--stop-at 42", "out", "out/checkpoint-40"),
    ("lightning", PL, "--stop-at 2", "out/checkpoints", "out/checkpoints/last.ckpt"),
    ("keras", f"{KERAS} --checkpoint", "--stop-at 9", "out", "out/009.keras"),
):
    # The programs look for checkpoints in the given folder: for the path of a checkpoint itself
    # they find none, and silently start over.
    killed = f"{command} {before}"
    TRAININGS |= {
        f"{name}-resumed": Training(f"{command} --resume {folder}", ("none",), killed),
        f"{name}-restarted": Training(
            f"{command} --resume {file}", ("resume_from_scratch",), killed
        ),
    }


def supervise(lab: Lab, command: str) -> dict[str, Any]:
    """Return the verdict on a program, and the evidence for it other than the log."""
    variables = {
        **os.environ,
        **lab.environment(),
        "GPUALERT_OBSERVE": "true",
        "HF_HUB_OFFLINE": "1",
        "KERAS_BACKEND": "torch",
        "OMP_NUM_THREADS": "1",
    }
    program, *options = command.split()
    argv = ("run", "--", str(PYTHON), str(PROGRAMS / program), *options)
    done = lab.gpualert(*argv, env=variables, timeout=LIMIT_S)
    verdict = Record.open(str(lab.records()[-1])).read_json("verdict.json")
    assert verdict is not None, done.stderr
    assert verdict["exit_code"] == done.returncode
    return verdict


@pytest.mark.parametrize("name", TRAININGS)
def test_training(name: str, lab: Lab) -> None:
    """The verdict reports the problem although the program exited with 0; or none if healthy."""
    training = TRAININGS[name]
    if training.before:
        assert supervise(lab, training.before)["exit_code"] == 1
    verdict = supervise(lab, training.command)
    assert verdict["exit_code"] == 0
    assert verdict["cause"] in training.causes, verdict
    if name.endswith("-healthy"):
        assert verdict["details"]["health"] == "healthy"
