"""Every fault of an alert under ``gpualert run``: the status is unchanged, and no alert is lost."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.notify.faults import DEADLINE_S, FAULTS, MARGIN_S, QUICK, ROOT, Cell
from tests.supervised import PROGRAM


def train(cell: Cell, *options: str) -> tuple[int, float, str]:
    """Return status, seconds and stderr of the cell's training under ``gpualert run``."""
    environment = {**os.environ, **cell.env}
    if cell.modules is not None:
        environment["PYTHONPATH"] = str(cell.modules)
    began = time.monotonic()
    done = subprocess.run(
        [*PROGRAM, "run", "--cwd", str(cell.work), *options, "--", *cell.command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    return done.returncode, time.monotonic() - began, done.stderr


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.e2e) for name in FAULTS],
)
def test_fault(name: str, tmp_path: Path) -> None:
    """Status and end of the run are unchanged, and the alert is delivered later, once."""
    fault = FAULTS[name]
    with fault.cell(tmp_path / "usual") as cell:
        usual_status, usual_s, _stderr = train(cell, "--notify", "none")
    with fault.cell(tmp_path / "cell") as cell:
        options = ("--notify", cell.notify, "--notify-deadline", f"{DEADLINE_S}s")
        status, took_s, stderr = train(cell, *options)
        assert status == usual_status == 1, stderr
        assert took_s < usual_s + DEADLINE_S + MARGIN_S
        row = cell.wait_for_state()
        cell.deliver_later()
        assert len(cell.mails()) == 1
        assert not cell.secret or cell.secret not in cell.mail_text()
        assert cell.alerts()[-1]["message_id"] == cell.mails()[0]["Message-ID"]
    note(name, usual_s, took_s, str(row["status"]))


def note(fault: str, usual_s: float, took_s: float, alert: str) -> None:
    """Add a row to the figures of this machine."""
    path = ROOT / ".bench" / "alerts_cli.json"
    path.parent.mkdir(exist_ok=True)
    rows = json.loads(path.read_text()) if path.exists() else {}
    rows[fault] = {"usual_s": round(usual_s, 2), "took_s": round(took_s, 2), "alert": alert}
    path.write_text(json.dumps(rows, indent=1) + "\n")
