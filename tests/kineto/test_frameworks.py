"""Traces of trainings by Transformers and Lightning, in the environment that `make` sets up."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.kineto.asking_runs import TRACING, trace_json
from tests.kineto.test_real_traces import read_events
from tests.supervised import Lab, until

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("sockets")]

ROOT = Path(__file__).resolve().parents[2]
PYTHON = str(ROOT / ".venv-frameworks" / "bin" / "python")
PROGRAMS = ROOT / "tests" / "progress" / "captured" / "programs"
LIMIT_S = 300.0
"""Importing them takes seconds, on a machine with a cold disk a minute."""


@pytest.mark.parametrize(
    ("program", "options", "output"),
    [
        ("hf_trainer.py", "--steps 2000000 --log-every 10 --no-bar", b"'loss'"),
        ("lightning_fit.py", "--epochs 1000000 --bar tqdm", b"Epoch 1"),
    ],
)
def test_framework(lab: Lab, program: str, options: str, output: bytes) -> None:
    """The program that the leader runs is traced while it trains, and goes on."""
    variables = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    command = (PYTHON, str(PROGRAMS / program), *options.split())
    run = lab.launch(*command, options=TRACING, env=variables)
    until(lambda: output in run.log(), "the training to train", LIMIT_S)
    found = trace_json(lab, "--duration", "300ms")
    (process,) = found["result"]["processes"]
    assert (process["rank"], process["problem"]) == ("leader", "")
    _base, events = read_events(Path(found["path"], process["file"]))
    assert "aten::linear" in {one["name"] for one in events}
    size = len(run.log())
    until(lambda: len(run.log()) > size, "the training to go on")
    assert b"daemon config loader" not in run.log()
    run.signal(signal.SIGTERM)
    run.wait()
