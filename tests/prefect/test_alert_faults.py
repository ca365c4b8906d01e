"""Every fault of an alert in Prefect: the task ends as without alerts, and no alert is lost.

``make nightly`` runs the slow faults; CI runs them under ``gpualert run`` only.  A test adds its
row to ``.bench/alerts_prefect.json``.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prefect import flow, task
from prefect.client.schemas.objects import StateType
from prefect_gpualert import TrainingFailed, gpualert_hook, gpualert_run

from tests.notify.faults import DEADLINE_S, FAULTS, MARGIN_S, QUICK, Cell
from tests.supervised import Lab

pytestmark = pytest.mark.usefixtures("harness")

FIGURES = Path(__file__).parents[2] / ".bench" / "alerts_prefect.json"
ELSEWHERE = ("artifact", "disk", "outbox", "hostile")
"""Parts of the names of faults that need a training."""


def faults(names: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrize a test by faults: the quick ones in CI, the others each night."""
    targets = {True: pytest.mark.e2e, False: pytest.mark.nightly}
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=targets[name in QUICK]) for name in names]
    )


@dataclass(frozen=True)
class Done:
    """The state of a task, and the duration of its flow."""

    state: StateType
    name: str
    error: tuple[object, ...]
    attempts: int
    took_s: float


def train(cell: Cell, monkeypatch: pytest.MonkeyPatch, notify: str) -> Done:
    """Run the cell's training as a task, twice where the fault allows it."""
    enter(cell, monkeypatch)
    retries = 0 if cell.fault.once else 1
    run_counts = []

    def may(_task: Any, run: Any, _state: Any) -> bool:
        run_counts.append(run.run_count)
        return True

    @flow
    def outer() -> Any:
        return gpualert_run.with_options(retries=retries, retry_condition_fn=may)(
            shlex.join(cell.command),
            cwd=cell.work,
            notify=[notify],
            notify_deadline=DEADLINE_S,
            return_state=True,
        )

    began = time.monotonic()
    state: Any = outer(return_state=True)
    took_s = time.monotonic() - began
    error = state.result(raise_on_failure=False)
    error = error.result(raise_on_failure=False) if hasattr(error, "result") else error
    assert isinstance(error, TrainingFailed), repr(error)
    message = str(error).partition("\nlog:")[0].replace(str(cell.home), "")
    shown = (error.exit_code, error.cause, message)
    return Done(state.type, str(state.name), shown, len(run_counts) + 1, took_s)


def hooked(cell: Cell, monkeypatch: pytest.MonkeyPatch, notify: str) -> Done:
    """Fail in a task without a training, whose hook sends an alert."""
    enter(cell, monkeypatch)
    hook = gpualert_hook(notify, deadline=DEADLINE_S)

    @task(on_failure=[hook])
    def work() -> None:
        raise RuntimeError("the loss is gone")

    @flow
    def outer() -> Any:
        return work(return_state=True)

    began = time.monotonic()
    state: Any = outer(return_state=True)
    took_s = time.monotonic() - began
    return Done(state.type, str(state.name), (), 1, took_s)


def enter(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the cell's environment in this process."""
    for name, value in cell.env.items():
        monkeypatch.setenv(name, value)
    if cell.modules is not None:
        monkeypatch.syspath_prepend(cell.modules)


@faults(FAULTS)
def test_task(name: str, lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The fault changes neither state nor attempts; the alert is delivered later, once."""
    fault = FAULTS[name]
    with fault.cell(tmp_path / "usual") as cell:
        usual = train(cell, monkeypatch, "none")
    with fault.cell(tmp_path / "cell") as cell:
        try:
            done = train(cell, monkeypatch, cell.notify)
            assert done.attempts == (1 if fault.once else 2)
            row = compare(cell, usual, done)
        finally:
            lab.end_everything()
    note(name, "gpualert_run", usual, done, row)


@faults(name for name in FAULTS if not any(part in name for part in ELSEWHERE))
def test_hook(name: str, lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The fault changes no state of any task; the alert of its hook is delivered later, once."""
    fault = FAULTS[name]
    with fault.cell(tmp_path / "usual") as cell:
        usual = hooked(cell, monkeypatch, "none")
    with fault.cell(tmp_path / "cell") as cell:
        try:
            done = hooked(cell, monkeypatch, cell.notify)
            row = compare(cell, usual, done)
        finally:
            lab.end_everything()
    note(name, "gpualert_hook", usual, done, row)


def compare(cell: Cell, usual: Done, done: Done) -> dict[str, Any]:
    """Compare the result of the fault with the usual one; return the listed alert."""
    row = cell.wait_for_state()
    cell.deliver_later()
    result = (done.state, done.name, done.error, done.attempts)
    assert result == (usual.state, usual.name, usual.error, usual.attempts)
    assert done.state is StateType.FAILED
    assert done.took_s < usual.took_s + DEADLINE_S + MARGIN_S
    ids = [mail["Message-ID"] for mail in cell.mails()]
    assert ids == [cell.alerts()[-1]["message_id"]]
    assert not cell.secret or cell.secret not in cell.mail_text()
    return row


def note(name: str, face: str, usual: Done, done: Done, row: dict[str, Any]) -> None:
    """Add the cell to the table."""
    rows = json.loads(FIGURES.read_text())["cells"] if FIGURES.exists() else {}
    rows[f"{face}: {name}"] = {
        "state": done.name,
        "tries": done.attempts,
        "usual_s": round(usual.took_s, 2),
        "took_s": round(done.took_s, 2),
        "alert": row["state"],
        "status": row["status"],
        "delivered_later": row["state"] != "sent",
    }
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(json.dumps({"schema": 1, "cells": rows}, indent=1) + "\n")
