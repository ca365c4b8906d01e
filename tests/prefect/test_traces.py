"""Traces of a training that is a task of Prefect."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kineto.asking_runs import ASKING, check_traced, traced_command
from tests.kineto.real_training import TORCH_STEPS
from tests.prefect.running import run

pytestmark = pytest.mark.usefixtures("harness")


def test_traced_task(home: Path) -> None:
    """A task with ``tracing`` can be traced while it runs, and succeeds."""
    check_traced(str(run("called", traced_command((*ASKING, "write")), tracing=True)))


@pytest.mark.nightly
def test_traced_pytorch(home: Path) -> None:
    """So can a task that trains with PyTorch."""
    check_traced(str(run("called", traced_command(TORCH_STEPS), tracing=True)))
