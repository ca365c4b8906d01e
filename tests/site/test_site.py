"""The source of the site: every page has a place in it, and every link leads there."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.site.repository_links import ROOT, adapt_links
from docs.site.source import list_documents, list_pages, read_configuration, write_source


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the source of the site."""
    folder = tmp_path_factory.mktemp("site")
    write_source(folder)
    return folder


def test_each_page_has_one_place() -> None:
    """The navigation names every page of docs/ once, and no page that does not exist."""
    named = list_pages(read_configuration())
    pages = [name for name in list_documents() if name.endswith(".md")]
    own = [page for page in named if not page.startswith("repository/")]
    assert sorted(own) == pages
    assert len(set(named)) == len(named)


def test_source_has_every_file_of_the_navigation(source: Path) -> None:
    """The source has each page of the navigation, those of files outside docs/ included."""
    pages = list_pages((source / "mkdocs.yml").read_text())
    assert [page for page in pages if not (source / "docs" / page).is_file()] == []
    assert "repository/CONTRIBUTING.md" in pages


def test_program_is_shown_as_code(source: Path) -> None:
    """A program of the repository is a page with its text as code."""
    page = (source / "docs/repository/examples/train_numpy.py.md").read_text()
    assert page.startswith("# examples/train_numpy.py\n\n```python\n#!/usr/bin/env python3\n")
    assert page.endswith("```\n")


def test_old_source_is_replaced(tmp_path: Path) -> None:
    """Writing the source removes what an earlier one left."""
    stale = tmp_path / "docs" / "removed.md"
    stale.parent.mkdir()
    stale.write_text("# Removed\n")
    write_source(tmp_path)
    assert not stale.exists()


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("docs/a.md", "[x](record.md#files)", "[x](record.md#files)"),
        ("docs/guides/a.md", "[x](../record.md)", "[x](../record.md)"),
        ("docs/a.md", "[x](../SECURITY.md)", "[x](repository/SECURITY.md)"),
        ("docs/causes/a.md", "[x](../../SECURITY.md)", "[x](../repository/SECURITY.md)"),
        ("docs/a.md", "[x](../examples/demo.py)", "[x](repository/examples/demo.py.md)"),
        ("CONTRIBUTING.md", "[x](docs/record.md#files)", "[x](../record.md#files)"),
        ("airflow_provider/README.md", "[x](../docs/airflow.md)", "[x](../../airflow.md)"),
        ("docs/a.md", "[record.md](record.md#files)", "[The run record](record.md#files)"),
        ("docs/a.md", "[x](#files)", "[x](#files)"),
        ("docs/a.md", "[x](https://example.org/a.md)", "[x](https://example.org/a.md)"),
        ("docs/a.md", "[x](mailto:me@example.org)", "[x](mailto:me@example.org)"),
        ("docs/a.md", "![x](images/a.png)", "![x](images/a.png)"),
    ],
)
def test_link(page: str, link: str, expected: str) -> None:
    """A link of a page in the repository leads to the same page in the site."""
    assert adapt_links(f"See {link}.", page) == f"See {expected}."


def test_code_is_not_changed() -> None:
    """A block of code that looks like a link stays as it is."""
    text = "```text\n[x](../SECURITY.md)\n```\n"
    assert adapt_links(text, "docs/a.md") == text


def test_site_is_made_of_tracked_files() -> None:
    """The built site and its source are not part of the repository."""
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {"/site/", "/.cache/", "/.venv-site/"} <= set(ignored)
