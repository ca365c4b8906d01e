"""The suite's own rule about skips, shown with a suite of one test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"


def pytest_in(directory: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run one test file in a directory of its own, under the same conftest.py."""
    (directory / "conftest.py").write_text(CONFTEST.read_text())
    (directory / "test_it.py").write_text(f"import pytest\n{body}\n")
    (directory / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
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
