"""The example trainings train, resume, save on SIGTERM, and fail for the reasons they offer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

TRAININGS = [
    pytest.param("train_numpy.py", id="numpy"),
    pytest.param("train_torch.py", id="torch", marks=pytest.mark.e2e),
]

FAULTS = [
    pytest.param("train_numpy.py", ["--layers", "2x8", "9x3"], "size 9 is different", id="shape"),
    pytest.param("train_numpy.py", ["--lr", "10"], "FloatingPointError: loss is nan", id="nan"),
    pytest.param("train_numpy.py", ["--resume", "no.npz"], "FileNotFoundError", id="checkpoint"),
    pytest.param(
        "train_torch.py",
        ["--set", "head_width=24"],
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied",
        id="torch-shape",
        marks=pytest.mark.e2e,
    ),
    pytest.param(
        "train_torch.py",
        ["--lr", "1e9"],
        "FloatingPointError: loss is nan",
        id="torch-nan",
        marks=pytest.mark.e2e,
    ),
]


def command(script: str, *options: str) -> list[str]:
    """Return the command that runs an example with unbuffered output."""
    return [sys.executable, "-u", str(EXAMPLES / script), *options]


def train(script: str, cwd: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run an example to its end."""
    return subprocess.run(command(script, *options), cwd=cwd, capture_output=True, text=True)


@pytest.mark.parametrize("script", TRAININGS)
def test_training_learns(script: str, tmp_path: Path) -> None:
    """The loss of the last epoch is below half of the first one's."""
    done = train(script, tmp_path, "--epochs", "5")
    losses = [float(line.split()[3]) for line in done.stdout.splitlines() if " loss " in line]
    assert done.returncode == 0
    assert len(losses) == 5
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("script", TRAININGS)
def test_training_resumes(script: str, tmp_path: Path) -> None:
    """A resumed training goes on with the epoch after the checkpoint's."""
    train(script, tmp_path, "--epochs", "2", "--checkpoint", "saved")
    done = train(script, tmp_path, "--epochs", "3", "--resume", "saved")
    assert "resuming after epoch 2" in done.stdout
    assert "epoch 3/3" in done.stdout
    assert "epoch 2/3" not in done.stdout


@pytest.mark.parametrize("script", TRAININGS)
def test_training_saves_on_sigterm(script: str, tmp_path: Path) -> None:
    """SIGTERM in mid-training leaves a checkpoint to resume from, and status 0."""
    endless = command(script, "--epochs", "1000000", "--save-every", "1000000")
    with subprocess.Popen(
        [*endless, "--checkpoint", "saved"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if line.startswith("epoch 2/"))
        process.terminate()
        rest = process.stdout.read()
    assert process.returncode == 0
    assert "checkpoint saved" in rest
    assert (tmp_path / "saved").is_file()


@pytest.mark.parametrize(("script", "options", "message"), FAULTS)
def test_training_fails_for_real(
    script: str, options: list[str], message: str, tmp_path: Path
) -> None:
    """The faults that an example offers are real errors of the libraries it uses."""
    done = train(script, tmp_path, *options)
    assert done.returncode == 1
    assert message in done.stderr
