"""Every test is run by exactly one of `make test`, `make e2e` and `make nightly`."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import TARGET_MARKERS

ROOT = Path(__file__).parents[2]
ENGINES = {".venv-airflow": "airflow", ".venv-prefect": "prefect"}
"""The engine of an environment; .venv has none, and ignores the directories of both."""

REPEATED = "hypothesis"
"""The marker of tests that `make nightly` runs once more, with examples drawn at random."""

PYTEST = re.compile(r"(?P<environment>\.venv\S*)/bin/python -m pytest (?P<options>[^|}]*)")


@dataclass(frozen=True)
class Lane:
    """One pytest of a target: the environment, the marker expression, and the paths."""

    environment: str
    marker: str
    paths: tuple[str, ...]

    def runs(self, file: Path) -> bool:
        """Return whether the lane collects a test file."""
        engine = ENGINES.get(self.environment)
        if engine is None and {"airflow", "prefect"} & set(file.parts):
            return False
        return any(file.is_relative_to(path) for path in self.paths)


def lanes_of(target: str) -> list[Lane]:
    """Return the lanes that make would run for a target."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))
    }
    command = ["make", "--dry-run", "--no-print-directory", target]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lanes = []
    for line in done.stdout.splitlines():
        if found := PYTEST.search(line):
            options = found["options"].split()
            marker = options[options.index("-m") + 1] if "-m" in options else ""
            paths = tuple(option for option in options if option.startswith("tests/"))
            lanes.append(Lane(found["environment"], marker, paths))
    return lanes


@pytest.mark.parametrize("target", ["test", *TARGET_MARKERS])
def test_each_file_has_one_lane(target: str) -> None:
    """A target's lanes select its own marker, and each test file is in exactly one of them."""
    lanes = [lane for lane in lanes_of(target) if lane.marker != REPEATED]
    assert {lane.marker for lane in lanes} == {"" if target == "test" else target}
    files = [path.relative_to(ROOT) for path in ROOT.glob("tests/**/test_*.py")]
    assert len(files) > 100
    found = {str(file): [lane for lane in lanes if lane.runs(file)] for file in files}
    assert [file for file, of_it in found.items() if len(of_it) != 1] == []
    for file, (lane,) in found.items():
        engine = ENGINES.get(lane.environment)
        assert engine is None or engine in Path(file).parts


def test_default_without_a_marker() -> None:
    """Without a marker pytest runs the tests that no other target runs."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    (expression,) = [word for word in shlex.split(settings["addopts"]) if word.startswith("not ")]
    assert expression == " and ".join(f"not {marker}" for marker in TARGET_MARKERS)
    declared = {line.partition(":")[0] for line in settings["markers"]}
    assert declared == set(TARGET_MARKERS)


def test_random_examples() -> None:
    """Hypothesis draws other examples in `make nightly` only."""
    repeated = {
        target: [lane.marker for lane in lanes_of(target)].count(REPEATED)
        for target in ("test", *TARGET_MARKERS)
    }
    assert repeated == {"test": 0, "e2e": 0, "nightly": 1}
