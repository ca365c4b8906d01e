"""The benchmarks work; their figures are not checked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.benchmarks.figures import read_figures
from tests.benchmarks.rows import CORE

ROOT = Path(__file__).parents[2]


def test_every_row_is_produced(tmp_path: Path) -> None:
    """In quick mode and without the paper's tool, each row of the core has its figures."""
    report = tmp_path / "figures.json"
    command: list[str | Path] = [sys.executable, "-m", "tests.benchmarks", "--quick", "--no-peer"]
    command += ["--json", report]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = read_figures(report)
    assert list(figures) == list(CORE)
    assert all(one.row.entries and one.row.title in done.stdout for one in figures.values())
