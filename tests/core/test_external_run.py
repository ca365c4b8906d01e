"""Tests of records of runs that another program supervised."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.external_run import (
    ExternalRun,
    find_exit_code,
    format_error,
    format_traceback,
)
from gpualert_common.record import OUTCOME
from gpualert_common.spec import Ending
from gpualert_common.structs import replace

RUN = ExternalRun(
    key=("engine", "run", "task"),
    number=2,
    name="nightly.train",
    state="failed",
    ending=Ending(1000.0, 1010.0),
    log=b"ValueError: no such column\n",
    summary="ValueError: no such column",
)


def test_the_record_is_the_same_for_every_caller(tmp_path: Path) -> None:
    """The first description of an attempt is kept; another attempt has another record."""
    first = RUN.record(None, str(tmp_path))
    again = replace(RUN, state="crashed", log=b"other").record(None, str(tmp_path))
    assert again.path == first.path
    outcome = again.read_json(OUTCOME)
    assert outcome is not None
    assert (outcome["state"], outcome["final"], outcome["number"]) == ("failed", True, 2)
    assert replace(RUN, number=3).record(None, str(tmp_path)).path != first.path


def test_statement_in_place_of_a_status(tmp_path: Path) -> None:
    """A run that was no process has the engine's statement as its first evidence, and no status."""
    verdict = replace(RUN, statement="The engine says failed").record(None, str(tmp_path)).verdict
    assert verdict is not None
    assert verdict.exit_code is None
    assert verdict.shows[0].claim == "The engine says failed"
    assert [one.available for one in verdict.sources if one.name == "exit_status"] == [False]


def test_status_goes_before_the_statement(tmp_path: Path) -> None:
    """A run whose exit status is known is classified by it."""
    run = replace(RUN, ending=Ending(1000.0, 1010.0), statement="The engine says failed")
    run.ending.code = 7
    verdict = run.record(None, str(tmp_path)).verdict
    assert verdict is not None
    assert verdict.exit_code == 7


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Command failed with exit code 3", 3),
        ("PID 5 failed with return code -9.", -9),
        ("returned non-zero exit status 127.", 127),
        ("exit code: 0", None),
        ("no status here", None),
    ],
)
def test_exit_code_of_a_message(text: str, code: int | None) -> None:
    """The usual messages of failed commands name their status."""
    assert find_exit_code(text) == code


def test_long_and_broken_errors() -> None:
    """A very long message is cut, and an exception that cannot be printed is no problem."""

    class BrokenError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert len(format_error(ValueError("x" * 1_000_000))) < 100_000
    assert "BrokenError" in format_error(BrokenError())
    assert "BrokenError" in format_traceback(BrokenError(), None)
