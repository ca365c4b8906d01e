"""Source of the site: a folder with its pages, its theme and its configuration.

Only this folder is read by the generator of the site, so another generator needs no other pages.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from docs.site.repository_links import FOLDER, ROOT, adapt_links

CONFIGURATION = Path(__file__).with_name("mkdocs.yml")
_THEME = Path(__file__).with_name("theme")
_FOLDER_ENTRY = re.compile(r"^( *- )(\S+)/\*$", re.MULTILINE)
_PAGE_ENTRY = re.compile(r"^ *- (?:[^:\n]*: )?(\S+\.md)$", re.MULTILINE)
_LONE_ENTRY = re.compile(r"^  - [^:\n]+: (\S+\.md)$", re.MULTILINE)
_WITHOUT_NAVIGATION = "---\nhide: [navigation]\n---\n"
_LANGUAGES = {".json": "json", ".py": "python", ".service": "ini", ".toml": "toml", ".yml": "yaml"}


def write_source(folder: Path) -> None:
    """Write the source of the site into a folder, in place of what it holds."""
    shutil.rmtree(folder, ignore_errors=True)
    configuration = read_configuration()
    for name, content in _read_files(configuration):
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    shutil.copytree(_THEME, folder / "theme")
    (folder / "mkdocs.yml").write_text(configuration)


def read_configuration() -> str:
    """Return the configuration of the site, with all pages of its folders."""

    def list_folder(entry: re.Match[str]) -> str:
        names = sorted(path.name for path in (ROOT / "docs" / entry[2]).glob("*.md"))
        return "\n".join(f"{entry[1]}{entry[2]}/{name}" for name in names)

    return _FOLDER_ENTRY.sub(list_folder, CONFIGURATION.read_text())


def list_pages(configuration: str) -> list[str]:
    """Return the pages that the navigation names, in its order."""
    return _PAGE_ENTRY.findall(configuration.partition("\nnav:\n")[2])


def list_documents() -> list[str]:
    """Return the pages of docs/, and the pictures and other files that they link to."""
    docs = ROOT / "docs"
    found = [path for suffix in ("md", "png", "svg", "json") for path in docs.rglob(f"*.{suffix}")]
    return sorted(
        path.relative_to(docs).as_posix() for path in found if not path.is_relative_to(_THEME)
    )


def _read_files(configuration: str) -> Iterator[tuple[str, bytes]]:
    """Yield each file of the site, by its path there."""
    lone = _LONE_ENTRY.findall(configuration)
    for name in list_documents():
        path = ROOT / "docs" / name
        if path.suffix != ".md":
            yield name, path.read_bytes()
        else:
            text = adapt_links(path.read_text(), f"docs/{name}")
            yield name, (_WITHOUT_NAVIGATION * (name in lone) + text).encode()
    for page in list_pages(configuration):
        if page.startswith(FOLDER):
            yield page, _read_repository_page(page).encode()


def _read_repository_page(page: str) -> str:
    """Return the Markdown of a file outside docs/; that of a program is its text as code."""
    path = page.removeprefix(FOLDER)
    if not (ROOT / path).exists():
        path = path.removesuffix(".md")
    text = (ROOT / path).read_text()
    if path.endswith(".md"):
        return adapt_links(text, path)
    return f"# {path}\n\n```{_LANGUAGES.get(Path(path).suffix, 'text')}\n{text}```\n"
