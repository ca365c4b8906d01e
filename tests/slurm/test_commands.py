"""Commands of Slurm end, whatever they do, and do not follow the settings of the user."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gpualert_common.errors import SlurmError
from gpualert_common.slurm.commands import run_command
from tests.slurm.conftest import Install


def test_a_missing_command_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without Slurm on the machine the error names the command."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SlurmError, match="there is no sacct in PATH") as caught:
        run_command("sacct")
    assert caught.value.is_missing


def test_a_command_that_hangs_is_killed_with_its_children(install: Install, tmp_path: Path) -> None:
    """After its deadline nothing of a command is left."""
    install("sacct", script=f"sleep 300 & echo $! > {tmp_path}/child; wait")
    started = time.monotonic()
    with pytest.raises(SlurmError, match="no answer within") as caught:
        run_command("sacct", deadline_s=0.5)
    assert caught.value.is_late
    assert time.monotonic() - started < 10
    child = Path((tmp_path / "child").read_text().strip())
    status = Path(f"/proc/{child}/stat")
    assert not status.exists() or status.read_text().split()[2] == "Z"


def test_output_without_end_is_cut(install: Install) -> None:
    """A command that prints without end is killed at the limit."""
    install("sacct", script="exec yes")
    with pytest.raises(SlurmError, match="printed more than 1000 bytes"):
        run_command("sacct", most_bytes=1000)


def test_failure_has_the_message_of_the_command(install: Install) -> None:
    """The message of a command is a part of the error, and short."""
    install(
        "sacct", script='echo "no database" >&2; head -c 100000 /dev/zero | tr "\\0" x >&2; exit 1'
    )
    with pytest.raises(SlurmError, match="sacct failed: no database") as caught:
        run_command("sacct")
    assert len(str(caught.value)) < 400


def test_no_command_needs_the_directory_of_the_run(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command runs also where the current directory was removed."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    install("sacct", script="pwd")
    assert run_command("sacct") == "/\n"


def test_invalid_bytes_are_replaced(install: Install) -> None:
    """Output that is no UTF-8 is still text."""
    install("sacct", script="printf '1|\\377|x\\n'")
    assert run_command("sacct") == "1|�|x\n"


def test_the_settings_of_the_user_are_left_out(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A format in a variable, or another language, does not reach the command."""
    monkeypatch.setenv("SACCT_FORMAT", "jobid")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
    monkeypatch.setenv("SLURM_CONF", "/etc/other.conf")
    install("sacct", script="env")
    found = dict(line.split("=", 1) for line in run_command("sacct").splitlines() if "=" in line)
    assert "SACCT_FORMAT" not in found
    assert (found["LC_ALL"], found["SLURM_TIME_FORMAT"]) == ("C", "%s")
    assert found["SLURM_CONF"] == "/etc/other.conf"
    assert os.environ["SACCT_FORMAT"] == "jobid"
