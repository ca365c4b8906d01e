"""Links of the pages, from paths of the repository to paths of the site.

The pages link to files as a Git host shows them.  The site holds docs/, and below ``repository/`` a
page for each other file that its navigation names.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = "repository/"
_CODE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
_NAMED_LINK = re.compile(r"\[[\w./-]*\.md\]\(([^)#\s]+)(#[^)\s]*)?\)")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def place_in_site(path: str) -> str:
    """Return the path in the site of a file of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return FOLDER + (path if path.endswith(".md") else f"{path}.md")


def adapt_links(markdown: str, page: str) -> str:
    """Return the text of a page with its relative links as the site needs them.

    *page* is its path in the repository.  A link that shows the name of a file shows its title.
    Addresses, and links in blocks of code, stay.
    """
    here = posixpath.dirname(place_in_site(page)) or "."

    def name(link: re.Match[str]) -> str:
        return f"[{_read_title(_find_target(link[1], page))}]({link[1]}{link[2] or ''})"

    def move(link: re.Match[str]) -> str:
        path, anchor = link[1], link[2] or ""
        if ":" in path:
            return link[0]
        target = place_in_site(_find_target(path, page))
        return f"]({posixpath.relpath(target, here)}{anchor})"

    parts = _CODE.split(markdown)
    return "".join(
        part if number % 2 else _LINK.sub(move, _NAMED_LINK.sub(name, part))
        for number, part in enumerate(parts)
    )


def _find_target(link: str, page: str) -> str:
    """Return the path in the repository that a link of a page leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def _read_title(path: str) -> str:
    """Return the title of a page; its name if there is none."""
    found = _TITLE.search((ROOT / path).read_text()) if (ROOT / path).is_file() else None
    return found[1] if found else posixpath.basename(path)
