"""The benchmarks work; their figures are not checked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.__main__ import ROWS

ROOT = Path(__file__).parents[2]


def test_every_row_is_produced(tmp_path: Path) -> None:
    """In quick mode and without the paper's tool, each row has its figures, as text and in JSON."""
    report = tmp_path / "figures.json"
    command: list[str | Path] = [sys.executable, "-m", "tests.benchmarks", "--quick", "--no-peer"]
    command += ["--json", report]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = json.loads(report.read_text())["rows"]
    assert len(rows) == len(ROWS)
    assert all(row["entries"] and row["title"] in done.stdout for row in rows)
