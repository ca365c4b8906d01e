"""Outcomes of a pytest run in another interpreter, counted by file."""

from __future__ import annotations

import os
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Outcome:
    """Outcomes of the tests of a file.  An outcome that is neither passed nor failed is ``other``.

    That is a test skipped or expected to fail, and an error outside of a test: in a fixture, or
    where the file could not be imported.
    """

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)

    def add(self, case: ET.Element) -> None:
        """Count one ``testcase`` of pytest's JUnit report."""
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        name = case.get("name", "")
        if not kinds:
            self.passed.append(name)
        elif kinds == {"failure"}:
            self.failed.append(name)
        else:
            self.other.append(f"{name} ({', '.join(sorted(kinds))})")


def run(
    python: Path, where: Path, files: Iterable[str], *arguments: str, env: Mapping[str, str]
) -> dict[str, Outcome]:
    """Run these files below ``where`` with pytest, and return their outcomes by file.

    Each has an outcome, an empty one where nothing of it was run.  Output goes where ours goes.

    :raises RuntimeError: when pytest wrote no report.
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.xml")
        command = [str(python.absolute()), "-m", "pytest", "-q", "--tb=short"]
        command += ["-c", os.devnull]  # or it goes by our own pyproject.toml, further up
        command += ["-p", "no:cacheprovider", f"--rootdir={where}", f"--junitxml={report}"]
        command += [*arguments, *files]
        done = subprocess.run(command, cwd=where, env=env, stdin=subprocess.DEVNULL)
        if not report.exists():
            raise RuntimeError(f"pytest ended with {done.returncode} and no report: {command}")
        cases = list(ET.parse(report).iter("testcase"))
    outcomes = {file: Outcome() for file in files}
    for case in cases:
        # A test is known by module and class, a file that could not be imported by its name.
        origin = case.get("classname") or case.get("name", "")
        for file, outcome in outcomes.items():
            if f"{origin}.".startswith(file.removesuffix(".py").replace("/", ".") + "."):
                outcome.add(case)
    return outcomes
