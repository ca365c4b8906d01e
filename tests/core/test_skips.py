"""The suite's own rules about what does not run, shown with suites of a test or two."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"


def pytest_in(directory: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run one test file in a directory of its own, under the same conftest.py."""
    (directory / "conftest.py").write_text(CONFTEST.read_text())
    (directory / "test_it.py").write_text(f"import pytest\n{body}\n")
    (directory / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", *options]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True)


def test_skip_in_a_test_fails(tmp_path: Path) -> None:
    """A test that skips itself fails the suite and says which one it was."""
    done = pytest_in(tmp_path, "def test_it():\n    pytest.skip('no such thing here')")
    assert done.returncode == 1
    assert "unexpected skip of test_it.py::test_it: Skipped: no such thing here" in done.stdout


def test_skip_by_mark_fails(tmp_path: Path) -> None:
    """A skip by mark fails the suite too."""
    done = pytest_in(tmp_path, "@pytest.mark.skip(reason='why')\ndef test_it(): pass")
    assert done.returncode == 1


def test_skip_of_a_module_fails(tmp_path: Path) -> None:
    """A module that skips itself at import fails the suite."""
    done = pytest_in(tmp_path, "pytest.importorskip('no_such_module')\ndef test_it(): pass")
    assert done.returncode != 0
    assert "unexpected skip" in done.stdout


def test_skip_is_allowed_on_request(tmp_path: Path) -> None:
    """With --allow-skips a skip is a skip."""
    done = pytest_in(tmp_path, "def test_it():\n    pytest.skip('why')", "--allow-skips")
    assert done.returncode == 0


def test_expected_failure_is_no_skip(tmp_path: Path) -> None:
    """A test that fails as expected (xfail) passes."""
    done = pytest_in(tmp_path, "@pytest.mark.xfail(strict=True)\ndef test_it(): assert False")
    assert done.returncode == 0


TWO = """
import time
def test_first():
    time.sleep({first_s})
    assert {holds}
def test_second(): pass
"""


def test_no_test_is_begun_too_late(tmp_path: Path) -> None:
    """Once the time is up nothing is begun, what runs is ended, and what was left out is told."""
    until = time.time() + 3.0
    two = TWO.format(first_s=4.0, holds=True)
    done = pytest_in(tmp_path, two, f"--begin-until={until}")
    assert done.returncode == 0
    assert "1 passed" in done.stdout
    assert "NOT BEGUN, the time was up: 1 of test_it.py" in done.stdout


def test_all_is_begun_in_time(tmp_path: Path) -> None:
    """Before the time is up nothing is left out."""
    done = pytest_in(
        tmp_path, TWO.format(first_s=0, holds=True), f"--begin-until={time.time() + 900}"
    )
    assert "2 passed" in done.stdout
    assert "NOT BEGUN" not in done.stdout


def test_what_failed_is_run_again_however_late(tmp_path: Path) -> None:
    """A failure is not made good by there being no time to run it again."""
    two = TWO.format(first_s=0, holds=False)
    assert pytest_in(tmp_path, two).returncode == 1
    again = pytest_in(tmp_path, two, "--last-failed", "--begin-until=1")
    assert again.returncode == 1
    assert "1 failed" in again.stdout
