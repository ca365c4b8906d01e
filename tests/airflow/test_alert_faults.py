"""Every fault of an alert in Airflow: the task ends as without alerts, and no alert is lost.

``make nightly`` runs the slow faults; CI runs them under ``gpualert run`` only.  A test adds its
row to ``.bench/alerts_airflow.json``.
"""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import Any

import pytest
from gpualert_provider.exceptions import TrainingTaskFailed

from tests.airflow.conftest import Done, Trials
from tests.notify.faults import DEADLINE_S, FAULTS, MARGIN_S, QUICK, Cell
from tests.supervised import Lab

FIGURES = Path(__file__).parents[2] / ".bench" / "alerts_airflow.json"


def train(
    cell: Cell, trials: Trials, monkeypatch: pytest.MonkeyPatch, notify: str
) -> tuple[Done, float]:
    """Run the cell's training as a task, twice if the fault allows; return the seconds, too."""
    for name, value in cell.env.items():
        monkeypatch.setenv(name, value)
    if cell.modules is not None:
        monkeypatch.syspath_prepend(cell.modules)
    retries = 0 if cell.fault.once else 1
    dag = trials.dag(
        f"bash_command={shlex.join(cell.command)!r}, cwd={str(cell.work)!r}, notify=[{notify!r}], "
        f"notify_deadline={DEADLINE_S}, retries={retries}, retry_delay=datetime.timedelta(0)"
    )
    began = time.monotonic()
    done = trials.test(dag)
    return done, time.monotonic() - began


def error_text(done: Done) -> tuple[str, int | None]:
    """Return the text of the task's error about its training."""
    assert isinstance(done.error, TrainingTaskFailed)
    return done.error.cause, done.error.exit_code


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.e2e if name in QUICK else pytest.mark.nightly)
        for name in FAULTS
    ],
)
def test_fault(
    name: str, trials: Trials, lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The task's state and attempts do not change; an undelivered alert is sent later, once."""
    fault = FAULTS[name]
    with fault.cell(tmp_path / "usual") as cell:
        usual, usual_s = train(cell, trials, monkeypatch, "none")
    with fault.cell(tmp_path / "cell") as cell:
        try:
            done, took_s = train(cell, trials, monkeypatch, cell.notify)
            row = cell.wait_for_state()
            cell.deliver_later()
            mails = cell.mails()
            assert (done.state, done.tries) == (usual.state, usual.tries)
            assert (done.state, done.tries) == ("failed", 1 if fault.once else 2)
            assert error_text(done) == error_text(usual)
            assert took_s < usual_s + DEADLINE_S + MARGIN_S
            assert [mail["Message-ID"] for mail in mails] == [cell.alerts()[-1]["message_id"]]
            assert not cell.secret or cell.secret not in cell.mail_text()
        finally:
            lab.end_everything()
    note(name, done=done, usual_s=usual_s, took_s=took_s, row=row)


def note(name: str, *, done: Done, usual_s: float, took_s: float, row: dict[str, Any]) -> None:
    """Put the cell into the table."""
    rows = json.loads(FIGURES.read_text())["cells"] if FIGURES.exists() else {}
    rows[name] = {
        "state": done.state,
        "tries": done.tries,
        "usual_s": round(usual_s, 2),
        "took_s": round(took_s, 2),
        "alert": row["state"],
        "status": row["status"],
        "delivered_later": row["state"] != "sent",
    }
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(json.dumps({"schema": 1, "cells": rows}, indent=1) + "\n")
