"""The documentation agrees with the code."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from docs.generate import list_stale, make_pages
from docs.pages.cli import make_cli_page
from docs.pages.configuration import make_configuration_page
from gpualert_common.plugins import plugin_names
from gpualert_common.settings import OPTIONS

ROOT = Path(__file__).parents[2]
PAGES = (
    "channels",
    "cli",
    "configuration",
    "evidence",
    "metrics",
    "redaction",
    "rules",
    "warnings",
)


@pytest.fixture(scope="module")
def pages() -> dict[Path, str]:
    """Return the content of each generated page, by its path."""
    return make_pages()


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}.md" for name in PAGES)])
def test_page_is_current(page: str, pages: dict[Path, str]) -> None:
    """A generated page, or part of one, agrees with its source (else: make docs)."""
    assert (ROOT / page).read_text() == pages[ROOT / page]


def test_stale_page_is_noticed(tmp_path: Path) -> None:
    """A page that differs from its source, or is missing, is stale."""
    old, current, absent = (tmp_path / name for name in ("old", "current", "absent"))
    old.write_text("was")
    current.write_text("is")
    assert list_stale({old: "is", current: "is", absent: "is"}) == [old, absent]


def test_page_shows_the_help_of_every_command() -> None:
    """The page of the program has a section for each command and each action of one."""
    before = dict(os.environ)
    sections = re.findall(r"^## gpualert ?(.*)$", make_cli_page(), re.MULTILINE)
    commands = set(plugin_names("gpualert_common.cli.commands"))
    assert dict(os.environ) == before
    assert {section.partition(" ")[0] for section in sections} == {"", *commands}
    assert "outbox retry" in sections


def test_page_lists_every_option() -> None:
    """The table of options has a row for each, with its variable; channels are in files only."""
    page = make_configuration_page()
    rows = re.findall(r"^\| `(\w+)` \| .*? \| (?:`(\w+)`|-) \|", page, re.MULTILINE)
    assert rows == [
        (name, "" if name == "channels" else f"GPUALERT_{name.upper()}") for name in OPTIONS
    ]


def written_pages() -> list[Path]:
    """Return the Markdown files of the repository that people read on its pages."""
    readmes = (ROOT / name / "README.md" for name in ("airflow_provider", "prefect_collection"))
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *readmes])


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", written_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_a_target(page: Path) -> None:
    """Each relative link names a file of the repository, and a heading of it."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link or link.startswith("mailto:"):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def named_tests(page: Path) -> list[str]:
    """Return the tests that a page names, as PATH or PATH::TEST; ``::TEST`` is of the last path."""
    found: list[str] = []
    for path, test in re.findall(r"`(tests/[\w/.]+)?(?:::(\w+))?`", page.read_text()):
        if path or test:
            of = path or found[-1].partition("::")[0]
            found.append(f"{of}::{test}" if test else of)
    return found


def test_threat_model_names_tests() -> None:
    """Each test that the threat model names exists, and each promise names one."""
    page = ROOT / "docs" / "threat-model.md"
    tests = named_tests(page)
    assert len(tests) > 20
    for test in tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists(), test
        assert not name or f"def {name}(" in (ROOT / path).read_text(), test
    rows = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    assert all("`tests/" in row for row in rows if row != "| promise | test |")
