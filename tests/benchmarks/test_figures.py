"""Kept figures: their comparison with new ones, and the page made from them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages.performance import format_page
from tests.benchmarks.figures import (
    KEPT,
    Measurement,
    describe_machine,
    find_losses,
    read_figures,
    stamp,
    write_figures,
)
from tests.benchmarks.measure import Row
from tests.benchmarks.rows import ENGINES, ROWS

ROOT = Path(__file__).parents[2]


def _row(*, time_ms: float = 30.0, speed_mb_s: float = 90.0) -> Row:
    row = Row("a row of two limits")
    row.add("ours", [time_ms, time_ms, time_ms], "ms")
    row.promise("time", time_ms, 40.0, "ms", base=10.0)
    row.promise("speed", speed_mb_s, 50.0, "MB/s", at_least=True, base=100.0)
    row.promise("absolute", time_ms, 40.0, "ms")
    return row


@pytest.mark.parametrize(
    ("now", "lost"),
    [
        (_row(), set()),
        (_row(time_ms=59.0, speed_mb_s=46.0), set()),
        (_row(time_ms=5.0, speed_mb_s=900.0), set()),
        (_row(time_ms=61.0), {"time"}),
        (_row(speed_mb_s=44.0), {"speed"}),
        (_row(time_ms=300.0, speed_mb_s=9.0), {"time", "speed"}),
    ],
)
def test_a_ratio_twice_as_bad_is_lost(now: Row, lost: set[str]) -> None:
    """Less than twice is noise; a time without a baseline is not compared."""
    assert find_losses(_row(), now).keys() == lost


def test_a_row_that_is_not_measured_any_more_is_lost() -> None:
    """Neither a benchmark that fails nor a limit that is gone passes for a good figure."""
    failed = Row("benchmark")
    failed.miss("all of it", "it failed")
    assert find_losses(_row(), failed).keys() == {"time", "speed", "all of it"}


@pytest.mark.parametrize(("was", "status"), [(0.001, 0), (1000.0, 1)])
def test_program_fails_on_a_regression(was: float, status: int, tmp_path: Path) -> None:
    """A row that has lost against the kept file is measured again, and then named."""
    before = Row("a child under a guardian")
    before.promise("followed / not followed", was, 0.9, "x", at_least=True, base=1)
    kept = tmp_path / "kept.json"
    write_figures(kept, {"followed": stamp(before)})
    command: list[str | Path] = [sys.executable, "-m", "tests.benchmarks", "followed", "--quick"]
    command += ["--no-peer", "--compare", "--kept", kept]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert done.stdout.count("PASS") + done.stdout.count("UNDER") == 1 + status
    assert done.stdout.count("LOST  followed: followed / not followed") == status


def test_kept_figures_are_of_rows_that_exist() -> None:
    """No figure is left of a benchmark that is gone."""
    assert read_figures(KEPT).keys() <= ROWS.keys()


def test_page_shows_a_missed_limit_as_missed() -> None:
    """In the table and in front of it, with both figures."""
    page = format_page({"launch": stamp(_row(time_ms=61.0))}, ["launch"])
    assert "**1 of 3 limits are kept.**" in page
    assert "- `launch`, time: **61 ms**; the limit is at most 40 ms" in page
    assert "| time | at most 40 ms | 61 ms | 6.1 | **no** |" in page
    assert "| speed | at least 50 MB/s | 90 MB/s | 0.9 | yes |" in page


def test_page_names_command_date_and_machine() -> None:
    """Of each row, and its spread."""
    page = format_page({"launch": Measurement("2026-01-02", "a machine", _row())}, ["launch"])
    line = "| `make bench BENCH_ARGS=launch` | 2026-01-02 | A |"
    assert f"| **a row of two limits** | | | | {line}" in page
    assert "Machine A: a machine." in page
    assert "| ours | 30 | 30 | 30 | 3 | ms |" in page


def test_page_shows_what_was_not_measured() -> None:
    """A row without figures, and a limit whose baseline is missing."""
    row = _row()
    row.miss("0.5 x ripgrep", "ripgrep is not installed")
    page = format_page({"scan": stamp(row)}, ["launch", "scan"])
    assert "- `scan`, 0.5 x ripgrep: not measured, ripgrep is not installed" in page
    assert "| 0.5 x ripgrep |  |  |  | **not measured** |" in page
    assert "- `launch`: not measured" in page
    assert "| **launch** | | | | **not measured** | `make bench BENCH_ARGS=launch` | | |" in page


def test_page_has_each_row_with_a_command_that_exists() -> None:
    """The commands of the kept page are those of the rows, and make knows them."""
    page = (ROOT / "docs" / "performance.md").read_text()
    names = re.findall(r"\| `make bench BENCH_ARGS=([\w-]+)` \|", page)
    assert names == list(ROWS)
    command = ["make", "--dry-run", "bench", f"BENCH_ARGS={' '.join(names)} --help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    arguments = done.stdout.splitlines()[-1].split("tests.benchmarks ")[1].split()
    program = [sys.executable, "-m", "tests.benchmarks", *arguments]
    subprocess.run(program, cwd=ROOT, capture_output=True, check=True)


def test_each_program_of_an_engine_is_a_row() -> None:
    """And each such row has its program."""
    folder = ROOT / "tests" / "benchmarks"
    programs = [path for engine in ("airflow", "prefect") for path in folder.glob(f"{engine}_*.py")]
    assert {path.stem.replace("_", "-") for path in programs} == ENGINES.keys()


def test_machine_is_a_kind_of_machine() -> None:
    """Neither its name nor the build of its kernel is published."""
    text = describe_machine()
    assert re.fullmatch(r"[^,]+, \d+ cores, Linux [\d.]+, Python [\d.]+\S*", text)


def test_scan_without_ripgrep_is_red(tmp_path: Path) -> None:
    """The limit is missed and says why; our own speed is measured."""
    report = tmp_path / "figures.json"
    command: list[str | Path] = [sys.executable, "-m", "tests.benchmarks", "scan", "--quick"]
    command += ["--no-peer", "--json", report]
    environment = {**os.environ, "PATH": "/nonexistent"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    row = read_figures(report)["scan"].row
    (limit,) = row.limits
    assert list(row.entries) == ["gpualert classify"]
    assert not limit.met
    assert "ripgrep is not installed" in limit.why
