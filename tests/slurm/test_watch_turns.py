"""A watch over all jobs of a user loses no end, with stand-ins for Slurm's commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.errors import SlurmError
from gpualert_common.settings import load_settings
from gpualert_common.slurm_watch import SlurmUserWatch
from tests.slurm.conftest import Install

ENDED = "5|5|COMPLETED|0:0|1790000010|1790000020|ann|node1|train\n"


@pytest.fixture
def watch(tmp_path: Path) -> SlurmUserWatch:
    """A watch without channels."""
    settings = load_settings({"state_dir": str(tmp_path / "state"), "notify": ["none"]})
    return SlurmUserWatch("ann", settings)


def test_end_is_not_lost_while_the_accounting_is_down(
    watch: SlurmUserWatch, install: Install
) -> None:
    """A job that the controller forgot is reported as soon as the accounting answers."""
    install("squeue", "5|RUNNING|\n")
    assert list(watch.take_turn()) == []
    install("squeue", "")
    install("scontrol", script="echo 'Invalid job id specified' >&2; exit 1")
    install("sacct", script="echo 'Problem talking to the database: refused' >&2; exit 1")
    with pytest.raises(SlurmError, match="database"):
        list(watch.take_turn())
    install("sacct", ENDED)
    assert [record.spec.name for record in watch.take_turn()] == ["train"]
    assert list(watch.take_turn()) == []


@pytest.mark.parametrize("text", ["{", '{"schema": 99}', '{"schema": 1, "live": 7}'])
def test_damaged_state_counts_as_missing(
    watch: SlurmUserWatch, install: Install, tmp_path: Path, text: str
) -> None:
    """With a damaged file the watch begins anew."""
    install("squeue", "5|RUNNING|\n")
    list(watch.take_turn())
    [file] = (tmp_path / "state" / "watches").glob("*.json")
    file.write_text(text)
    assert list(watch.take_turn()) == []
