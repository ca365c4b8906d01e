"""Links of the pages, from paths of the repository to paths of the site.

The pages link to files as a Git host shows them.  The site holds docs/, and below ``repository/`` a
page for each other file that its navigation names.
"""

from __future__ import annotations

import posixpath
import re

FOLDER = "repository/"
_CODE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def place_in_site(path: str) -> str:
    """Return the path in the site of a file of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return FOLDER + (path if path.endswith(".md") else f"{path}.md")


def move_links(markdown: str, page: str) -> str:
    """Return the text of a page with its relative links as the site needs them.

    *page* is its path in the repository.  Addresses, and links in blocks of code, stay.
    """
    here = posixpath.dirname(place_in_site(page)) or "."

    def move(link: re.Match[str]) -> str:
        path, anchor = link[1], link[2] or ""
        if ":" in path:
            return link[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        return f"]({posixpath.relpath(place_in_site(target), here)}{anchor})"

    parts = _CODE.split(markdown)
    return "".join(
        part if number % 2 else _LINK.sub(move, part) for number, part in enumerate(parts)
    )
