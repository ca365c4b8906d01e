"""Parts of Markdown that several pages use."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]


def format_code(text: str) -> str:
    """Return the first line of a text as code that is also valid in a table cell."""
    line = text.strip().splitlines()[0].replace("|", "\\|")
    fence = "``" if "`" in line else "`"
    return f"{fence}{line}{fence}"


def format_list(texts: Iterable[str]) -> str:
    """Return the texts as a bullet list."""
    return "\n".join(f"- {text}" for text in texts)


def join_parts(parts: Iterable[str]) -> str:
    """Return the parts that are not empty, with a blank line between them."""
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def read_docstring(module: str) -> str:
    """Return the docstring of a module that is imported already."""
    return inspect.getdoc(sys.modules[module]) or ""


def replace_block(page: str, name: str, content: str) -> str:
    """Return *page* with *content* between the markers ``<!-- NAME -->`` and ``<!-- end -->``."""
    block = re.compile(rf"<!-- {name} -->\n.*?<!-- end -->", re.DOTALL)
    return block.sub(lambda _: f"<!-- {name} -->\n{content}\n<!-- end -->", page)
