"""The page about the simulation: docs/job-scale.md, with blocks that are generated."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "job-scale.md"


def write_block(name: str, text: str) -> None:
    """Replace one generated block of the page."""
    block = re.compile(rf"(<!-- {name} -->\n).*?(?=<!-- end -->)", re.DOTALL)
    PAGE.write_text(block.sub(lambda found: f"{found[1]}\n{text}\n", PAGE.read_text()))
