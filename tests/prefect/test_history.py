"""Tests of the history of trainings whose runs Prefect names at random."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.history.past_run import compute_run_fingerprint, compute_task_digest
from tests.prefect.running import records, run

pytestmark = pytest.mark.usefixtures("harness")


def test_same_training_in_every_flow_run(home: Path) -> None:
    """Two flow runs of one training are of one training, and two attempts at two tasks; another
    command is another one."""
    for command in ("echo 1", "echo 1", "echo 2"):
        run("called", command)
    first, second, other = (record.spec for record in records(home))
    assert first.name != second.name
    assert (
        compute_run_fingerprint(first)
        == compute_run_fingerprint(second)
        != compute_run_fingerprint(other)
    )
    assert compute_task_digest(first) != compute_task_digest(second)


def test_names_of_its_author_count(home: Path) -> None:
    """If the author names task runs, each name is another training."""
    for name in ("small", "large", "small"):
        run("called", "echo 1", {"task_run_name": name})
    small, large, again = (compute_run_fingerprint(record.spec) for record in records(home))
    assert small == again != large
