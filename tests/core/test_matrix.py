"""The table of versions says what was seen, and keeps what was not run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import matrix
from tests.matrix import ROWS, Row, read_summary, read_table, write_table

SUMMARIES = {
    "2 failed, 259 passed, 49 deselected, 3 warnings, 1 error in 505.47s (0:08:25)": (
        "259 pass, 3 fail"
    ),
    "[lane] 55 passed, 2 skipped in 39.84s": "55 pass",
    "ImportError: no such module": "did not run",
}


@pytest.mark.parametrize("output", SUMMARIES)
def test_summary(output: str) -> None:
    """Errors count as failures; without a summary nothing is claimed."""
    assert read_summary(f"some test failed\n{output}\n") == SUMMARIES[output]


def test_rows_that_are_not_run_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later call replaces its own rows only, and the text around the table stays."""
    page = tmp_path / "versions.md"
    page.write_text(f"before\n{matrix.MARK}\n{matrix.MARK}\nafter\n")
    monkeypatch.setattr(matrix, "PAGE", page)
    first, second = ROWS[:2]
    write_table({first: ("1 pass", "2 of 2")})
    write_table({second: ("3 pass", "4 of 4")})
    rows = [cells for _, cells in read_table(page.read_text())]
    assert [cells[4] for cells in rows] == ["1 pass", "3 pass", *["not run"] * (len(ROWS) - 2)]
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("\nafter\n")


def test_page_has_every_row() -> None:
    """The page in the tree has one row for each version that the command runs."""
    page = [Row(*key[:2], cells[3], key[2]) for key, cells in read_table(matrix.PAGE.read_text())]
    assert [row.name for row in page] == [row.name for row in ROWS]
