"""The check of dependencies fails for a known vulnerability, and for nothing else."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.structure import audit

VULNERABLE = {
    "name": "one",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": [], "description": ""}],
}
SOUND: dict[str, Any] = {"name": "two", "version": "2.0", "vulns": []}
UNKNOWN = {"name": "three", "skip_reason": "not found"}


def answering(folder: Path, text: str) -> str:
    """Return a program that prints this text, as pip-audit prints its report."""
    program = folder / "pip-audit"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\necho no service >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def test_vulnerability(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A vulnerability is named with its package and the version that fixes it."""
    report = json.dumps({"dependencies": [VULNERABLE, SOUND, UNKNOWN]})
    assert audit.main(answering(tmp_path, report)) == 1
    assert capsys.readouterr().out.splitlines() == [
        "pip-audit: 2 packages checked; no advisories to be had for 1",
        "one 1.0: PYSEC-1, fixed in 1.1",
    ]


def test_accepted_vulnerability(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vulnerability that does not concern us does not fail the check."""
    monkeypatch.setattr(audit, "ACCEPTED", {"PYSEC-1": "we do not use it"})
    report = json.dumps({"dependencies": [VULNERABLE]})
    assert audit.main(answering(tmp_path, report)) == 0


def test_no_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without advisories nothing was checked, and the output says so."""
    assert audit.main(answering(tmp_path, "")) == 0
    assert "not checked: ['no service']" in capsys.readouterr().out


def test_requirements_are_those_of_this_environment() -> None:
    """The packages are exact, without our own and without installers."""
    found = audit.list_requirements()
    assert any(line.startswith("pytest==") for line in found)
    assert not any(line.startswith(("pip==", "uv==", "gpualert")) for line in found)
