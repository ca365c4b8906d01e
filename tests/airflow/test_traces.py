"""Traces of a training that is a task of Airflow."""

from __future__ import annotations

import json

import pytest

from tests.airflow.conftest import Trials
from tests.kineto.asking_runs import ASKING, check_traced, traced_command
from tests.kineto.real_training import TORCH_STEPS
from tests.supervised import Lab


def test_traced_task(trials: Trials, lab: Lab) -> None:
    """A task with ``tracing`` can be traced while it runs, and succeeds."""
    done = trials.train(f"bash_command={traced_command((*ASKING, 'write'))!r}, tracing=True")
    assert done.state == "success"
    check_traced(json.dumps(done.returned))


@pytest.mark.nightly
def test_traced_pytorch(trials: Trials, lab: Lab) -> None:
    """So can a task that trains with PyTorch."""
    done = trials.train(f"bash_command={traced_command(TORCH_STEPS)!r}, tracing=True")
    assert done.state == "success"
    check_traced(json.dumps(done.returned))
