"""Rooms import only from floors below theirs, and what runs before the child is light."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.notify.channel_config import channel_kinds
from tests.structure.floors import FLOOR_OF
from tests.structure.source import ROOT

CORE = ROOT / "gpualert_common"

SHUT_OUT = {
    "gpualert_common": {"airflow", "prefect", "gpualert_provider", "prefect_gpualert"},
    "airflow_provider/gpualert_provider": {"prefect", "prefect_gpualert"},
    "prefect_collection/prefect_gpualert": {"airflow", "gpualert_provider"},
}
"""Packages that each package never imports: the core no engine, an engine package no other one."""

HEAVY = {
    "ast", "concurrent", "dataclasses", "email", "inspect", "logging", "numpy",
    "pathlib", "re2", "socket", "sqlite3", "tempfile", "tomli", "tomllib", "typing", "urllib",
}  # fmt: skip
"""Each costs milliseconds, some of them many; the child is running before any is imported."""


def sources(package: Path) -> list[Path]:
    """Return every Python file of a package."""
    return sorted(package.rglob("*.py"))


def imported(source: Path) -> Iterator[str]:
    """Yield the dotted name of everything that a file imports, under TYPE_CHECKING too."""
    package = source.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, *([node.module] if node.module else [])))
            yield from (f"{base}.{alias.name}" for alias in node.names)


def room(name: str) -> str | None:
    """Return the room of the core that a dotted name lies in; None when it is not the core's."""
    parts = name.split(".")
    if parts[0] != "gpualert_common":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in FLOOR_OF else "__init__"


def light_modules() -> list[str]:
    """Return the modules that are imported before the child is launched."""
    rooms = [path for room in ("launch", "supervise") for path in sources(CORE / room)]
    supervising = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in rooms]
    names = ("errors", "spec", "record", "record_locations", "settings")
    plain = [f"gpualert_common.{name}" for name in names]
    program = ["gpualert_common", "gpualert_common.cli.main", "gpualert_common.cli.commands.run"]
    channels = [f"gpualert_common.notify.channels.{kind}" for kind in channel_kinds()]
    plain += [
        "gpualert_common.guardian.main",
        "gpualert_common.api",
        "gpualert_common.notify.channel_config",
        *channels,
    ]
    return [*program, *plain, *(name.removesuffix(".__init__") for name in supervising)]


def test_every_room_has_a_floor() -> None:
    """Each module and folder of the core stands on a floor, and each listed room exists."""
    there = {path.stem for path in CORE.glob("*.py")}
    there |= {path.parent.name for path in CORE.glob("*/__init__.py")}
    assert there == set(FLOOR_OF)


@pytest.mark.parametrize("source", sources(CORE), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(source: Path) -> None:
    """A file of the core imports, of ours, only its own room and rooms on floors below it."""
    own = source.relative_to(CORE).parts[0].removesuffix(".py")
    used = {target for name in imported(source) if (target := room(name)) not in (None, own)}
    assert {target for target in used if FLOOR_OF[str(target)] >= FLOOR_OF[own]} == set()


@pytest.mark.parametrize("package", SHUT_OUT)
def test_engines_stay_out(package: str) -> None:
    """The core imports no engine and no engine package; these do not import each other."""
    names = {name.split(".")[0] for path in sources(ROOT / package) for name in imported(path)}
    assert names & SHUT_OUT[package] == set()


@pytest.mark.parametrize("module", light_modules())
def test_nothing_heavy_before_the_child(module: str) -> None:
    """Importing what runs before the launch brings in none of the heavy modules."""
    probe = (
        "import sys; before = set(sys.modules)\n"
        f"import {module}\n"
        "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    )
    command = [sys.executable, "-c", probe]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & HEAVY == set()


RUN_AND_COUNT_RULES = """
import sys, threading, time
from gpualert_common import run
from gpualert_common.classify.compiled_rules import compile_rules

def end_run_once_compiled():
    while not compile_rules.cache_info().currsize:
        time.sleep(0.02)
    open("compiled", "w").close()

threading.Thread(target=end_run_once_compiled, daemon=True).start()
run(["sh", "-c", sys.argv[1]], state_dir="state", notify="none", timeout="1m")
print(compile_rules.cache_info().currsize)
"""


@pytest.mark.parametrize(
    ("command", "made"), [("true", 0), ("until [ -e compiled ]; do sleep 0.1; done", 1)]
)
def test_rules_are_ready_once_a_run_lasts(command: str, made: int, tmp_path: Path) -> None:
    """Rules are compiled while a quiet run lasts, and never for one that ends at once."""
    done = subprocess.run(
        [sys.executable, "-c", RUN_AND_COUNT_RULES, command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) == made
