"""README's table of the demo is what the demo prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from examples import demo

ROOT = Path(__file__).parents[2]
TABLE = re.compile(r"^by .*?(?=^$|^```|\Z)", re.MULTILINE | re.DOTALL)


def read_table(text: str) -> list[list[str]]:
    """Return the cells of the table of verdicts, without heads."""
    (table,) = TABLE.findall(text)
    return [re.split(r"  +", line) for line in table.splitlines()[2:]]


def test_readme_has_the_verdicts_of_the_demo(tmp_path: Path) -> None:
    """README's rows of the program `gpualert` are those that the demo prints, and it succeeds."""
    done = subprocess.run(
        [sys.executable, "examples/demo.py"],
        cwd=ROOT,
        env=os.environ | {"GPUALERT_STATE_DIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    documented = read_table((ROOT / "README.md").read_text())
    assert read_table(done.stdout) == [cells for cells in documented if cells[0] == "gpualert"]
    assert done.returncode == 0


@pytest.mark.parametrize("by", ["airflow", "prefect"])
def test_demo_refuses_another_table(by: str) -> None:
    """A verdict of an engine that README does not have is a problem of the demo, and named."""
    rows = [tuple(cells) for cells in read_table((ROOT / "README.md").read_text())]
    assert demo.compare_with_readme(rows) == []
    other = [(*cells[:2], "nan_loss", *cells[3:]) if cells[0] == by else cells for cells in rows]
    (problem,) = demo.compare_with_readme(other)
    assert "nan_loss" in problem
