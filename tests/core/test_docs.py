"""The papers say what the code says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from gpualert_common.plugins import plugin_names
from gpualert_common.settings import OPTIONS

ROOT = Path(__file__).parents[2]
PAGES = ("channels", "cli", "configuration", "evidence", "redaction", "rules", "warnings")


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """Return docs/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}.md" for name in PAGES)])
def test_page_is_current(page: str, generate: ModuleType) -> None:
    """A generated page, or part of one, is what its source says (else: make docs)."""
    assert (ROOT / page).read_text() == generate.pages()[ROOT / page]


def test_stale_page_is_noticed(tmp_path: Path, generate: ModuleType) -> None:
    """A page that says something else than its source, or is absent, counts as stale."""
    old, current, absent = (tmp_path / name for name in ("old", "current", "absent"))
    old.write_text("was")
    current.write_text("is")
    assert generate.stale({old: "is", current: "is", absent: "is"}) == [old, absent]


def test_page_shows_the_help_of_every_command(generate: ModuleType) -> None:
    """The page of the program has a section for each command and each action of one."""
    sections = re.findall(r"^## gpualert ?(.*)$", generate.cli_page(), re.MULTILINE)
    commands = set(plugin_names("gpualert_common.cli.commands"))
    assert {section.partition(" ")[0] for section in sections} == {"", *commands}
    assert "outbox retry" in sections


def test_page_lists_every_option(generate: ModuleType) -> None:
    """The table of options has a row for each, with its variable; channels are in files only."""
    page = generate.configuration_page()
    rows = re.findall(r"^\| `(\w+)` \| .*? \| (?:`(\w+)`|-) \|", page, re.MULTILINE)
    assert rows == [
        (name, "" if name == "channels" else f"GPUALERT_{name.upper()}") for name in OPTIONS
    ]


def test_links_between_papers_hold() -> None:
    """A relative link in a paper points to a file that is there."""
    for paper in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", paper.read_text()):
            assert (paper.parent / target).exists(), f"{paper.name} -> {target}"
