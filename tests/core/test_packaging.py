"""The distributions: one version, and rules that are found after any kind of installation."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from gpualert_common._version import __version__

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = {
    "gpualert-common": ROOT,
    "airflow-provider-gpualert": ROOT / "airflow_provider",
    "prefect-gpualert": ROOT / "prefect_collection",
}

ENGINE_OF = {
    "airflow-provider-gpualert": ("apache-airflow",),
    "prefect-gpualert": ("prefect", "fastapi<"),
}
"""What each engine package requires besides the core: its engine, and a bound that this lacks."""
UV = Path(sys.executable).with_name("uv")
RULES = {path.stem for path in (ROOT / "rules").glob("*.toml")}


def uv(*arguments: str | Path) -> None:
    """Run uv; its output is shown if it fails."""
    done = subprocess.run([UV, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def listed_rules(*program: str | Path, cwd: Path, **variables: str) -> set[str]:
    """Return the ids that ``rules list --json`` names."""
    command = [*program, "rules", "list", "--json"]
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {rule["id"] for rule in json.loads(done.stdout)["rules"]}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the wheel of each distribution, built from its sdist."""
    folder = tmp_path_factory.mktemp("dist")
    built = {}
    for name, source in DISTRIBUTIONS.items():
        uv("build", "--out-dir", folder / name, source)
        (built[name],) = (folder / name).glob("*.whl")
    return built


def metadata(wheel: Path) -> tuple[str, set[str], set[str]]:
    """Return a wheel's version, what it requires, and the files in it."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (path,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        headers = HeaderParser().parsestr(archive.read(path).decode())
    return str(headers["Version"]), set(headers.get_all("Requires-Dist", [])), names


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_one_version(name: str, wheels: dict[str, Path]) -> None:
    """Each wheel, built from its sdist, has the version of gpualert_common/_version.py."""
    assert metadata(wheels[name])[0] == __version__


@pytest.mark.parametrize("name", [name for name in DISTRIBUTIONS if name != "gpualert-common"])
def test_engine_package_requires_its_own_core(name: str, wheels: dict[str, Path]) -> None:
    """An engine package requires the core of its own version and its engine, nothing else."""
    required = metadata(wheels[name])[1]
    core = f"gpualert-common=={__version__}"
    assert core in required
    assert {entry.startswith(ENGINE_OF[name]) for entry in required - {core}} == {True}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_wheel_is_whole(name: str, wheels: dict[str, Path]) -> None:
    """Each wheel carries the licence and says that it is typed."""
    files = metadata(wheels[name])[2]
    assert any(file.endswith("/licenses/LICENSE") for file in files)
    assert any(file.endswith("/py.typed") for file in files)


def test_wheel_has_the_parts_of_pages(wheels: dict[str, Path]) -> None:
    """The core's wheel has each template and style sheet of the source tree."""
    found = metadata(wheels["gpualert-common"])[2]
    package = ROOT / "gpualert_common"
    parts = [path for end in ("*.j2", "*.css") for path in package.rglob(end)]
    assert len(parts) > 10
    assert {str(path.relative_to(ROOT)) for path in parts} <= found


def test_licences_are_one() -> None:
    """Each distribution's licence file is the repository's."""
    assert len({(source / "LICENSE").read_text() for source in DISTRIBUTIONS.values()}) == 1


def test_every_dependency_is_explained() -> None:
    """docs/dependencies.md gives a reason for each dependency that a distribution declares."""
    explained = (ROOT / "docs" / "dependencies.md").read_text()
    for source in DISTRIBUTIONS.values():
        project = tomllib.loads((source / "pyproject.toml").read_text())
        declared = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
        declared += project.get("dependency-groups", {}).get("dev", [])
        for extra in project["project"].get("optional-dependencies", {}).values():
            declared += extra
        names = {entry.split("=")[0].split(">")[0].split("<")[0] for entry in declared}
        assert {name for name in names if f"`{name}`" not in explained} == set()


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_rules_are_found_when_installed(kind: str, wheels: dict[str, Path], tmp_path: Path) -> None:
    """The installed program finds every rule, from a wheel and from an editable install."""
    uv("venv", "--python", sys.executable, tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    what = [wheels["gpualert-common"]] if kind == "wheel" else ["--editable", ROOT]
    uv("pip", "install", "--python", python, *what)
    assert listed_rules(python.with_name("gpualert"), cwd=tmp_path) == RULES


def test_rules_are_found_in_a_bare_checkout(tmp_path: Path) -> None:
    """A copy of the source tree, not installed, uses the rules next to it."""
    for folder in ("gpualert_common", "rules"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    gone = min(RULES)
    (tmp_path / "rules" / f"{gone}.toml").unlink()
    program = (sys.executable, "-m", "gpualert_common")
    assert listed_rules(*program, cwd=tmp_path, PYTHONPATH=str(tmp_path)) == RULES - {gone}
