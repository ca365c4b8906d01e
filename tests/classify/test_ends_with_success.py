"""Logs of runs with exit status 0: what follows a failure decides whether the run has failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.classify import load_rules, resolve, scan_file
from gpualert_common.model import ExitFacts

LOGS = Path(__file__).parent / "exit_0"
FAILED = sorted((LOGS / "failed").glob("*.log"))
GOOD = sorted((LOGS / "good").glob("*.log"))
RULES = load_rules()


def resolve_log(log: Path) -> str:
    """Return the cause of a run that wrote *log* and exited with status 0."""
    return resolve([scan_file(log, RULES)], ExitFacts(0), RULES).cause


@pytest.mark.parametrize("log", FAILED, ids=lambda log: log.stem)
def test_failure(log: Path) -> None:
    """A run whose work is evidently not done has failed; the file is named after the cause."""
    assert resolve_log(log) == log.stem.partition("-")[0]


@pytest.mark.parametrize("log", GOOD, ids=lambda log: log.stem)
def test_success(log: Path) -> None:
    """A run that did its work in spite of a failure has succeeded."""
    assert resolve_log(log) == "none"
