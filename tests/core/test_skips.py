"""The rules of tests/conftest.py, each shown with a suite of one or two tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def pytest_in(
    directory: Path, body: str, *options: str, before: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run one test file in a directory of its own, under the same conftest.py."""
    (directory / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (directory / "test_it.py").write_text(f"import pytest\n{body}\n")
    (directory / "pytest.ini").write_text("[pytest]\n")
    bare = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(TESTS.parent),
    }
    command = [*before, sys.executable, "-m", "pytest", *options]
    return subprocess.run(command, cwd=directory, env=bare, capture_output=True, text=True)


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


def test_two_target_markers_are_refused(tmp_path: Path) -> None:
    """A test that two targets would run stops the suite, which names it."""
    body = "@pytest.mark.e2e\n@pytest.mark.nightly\ndef test_it(): pass"
    done = pytest_in(tmp_path, body, "-W", "ignore::pytest.PytestUnknownMarkWarning")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_it.py::test_it has more than one of the markers" in done.stderr


def test_failures_are_noted_with_their_reason(tmp_path: Path) -> None:
    """With --failures-to each failed test is one line of the file, after those of earlier runs."""
    noted = tmp_path / "noted" / "failures"
    noted.parent.mkdir()
    noted.write_text("an earlier run\n")
    body = "def test_it():\n    assert 1 + 1 == 3, 'no sum'\ndef test_other(): pass"
    done = pytest_in(tmp_path, body, f"--failures-to={noted}")
    assert done.returncode == 1
    earlier, line = noted.read_text().splitlines()
    assert earlier == "an earlier run"
    assert line == "test_it.py::test_it (call): AssertionError: no sum"


IGNORED = """
import signal, subprocess
def test_it():
    for name in ("SIGHUP", "SIGINT", "SIGQUIT"):
        done = subprocess.run(["sh", "-c", f"kill -s {name[3:]} $$; sleep 60"], timeout=30)
        assert done.returncode == -getattr(signal, name)
    signal.raise_signal(signal.SIGHUP)
"""


def test_signals_that_the_parent_ignores_reach_programs_under_test(tmp_path: Path) -> None:
    """Under nohup, or in the background of a shell, a child of a test still dies of a signal."""
    ignoring = ("env", "--ignore-signal=HUP,INT,QUIT")
    done = pytest_in(tmp_path, IGNORED, before=ignoring)
    assert done.returncode == 0, done.stdout
