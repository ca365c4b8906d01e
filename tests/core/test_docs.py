"""The papers say what the code says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from gpualert_common.config import KEYS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """Return docs/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "page", ["README.md", "docs/rules.md", "docs/redaction.md", "docs/channels.md"]
)
def test_page_is_current(page: str, generate: ModuleType) -> None:
    """A generated page, or part of one, is what its source says (else: make docs)."""
    assert (ROOT / page).read_text() == generate.pages()[ROOT / page]


def test_stale_page_is_noticed(tmp_path: Path, generate: ModuleType) -> None:
    """A page that says something else than its source, or is absent, counts as stale."""
    old, current, absent = (tmp_path / name for name in ("old", "current", "absent"))
    old.write_text("was")
    current.write_text("is")
    assert generate.stale({old: "is", current: "is", absent: "is"}) == [old, absent]


def test_readme_shows_the_help_of_every_command(generate: ModuleType) -> None:
    """The README has a help block for the program and for each of its commands."""
    shown = {found["command"].strip() for found in generate.HELP_BLOCK.finditer(README.read_text())}
    listed = re.findall(r"^    ([a-z]+) ", generate.help_text(""), re.MULTILINE)
    assert listed
    assert shown == {"", *listed}


def test_readme_lists_every_setting() -> None:
    """The README's table of settings has a row for each key, with its variable's name."""
    rows = re.findall(r"^\| `(\w+)` \| .*? \| (?:`(\w+)`|-) \|", README.read_text(), re.MULTILINE)
    in_files_only = {"channels"}
    assert rows == [
        (key, "" if key in in_files_only else f"GPUALERT_{key.upper()}") for key in KEYS
    ]


def test_links_between_papers_hold() -> None:
    """A relative link in a paper points to a file that is there."""
    for paper in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", paper.read_text()):
            assert (paper.parent / target).exists(), f"{paper.name} -> {target}"
