"""Look that the web pages and the report share."""

from __future__ import annotations

import re
from pathlib import Path

import gpualert_common

ROOT = Path(gpualert_common.__file__).parent


def _read_properties(style: Path) -> list[tuple[str, str]]:
    """Return the custom properties of a style sheet in their order, light ones first."""
    text = style.read_text().partition("@media print")[0]
    return re.findall(r"^\s*(--[\w-]+):\s*([^;]+);$", text, re.MULTILINE)


def test_colours_and_fonts_are_those_of_the_report() -> None:
    """A property that both style sheets have is the same in both, light and dark."""
    web = _read_properties(ROOT / "web" / "static" / "web.css")
    report = _read_properties(ROOT / "pages" / "report.css")
    shared = {name for name, _value in web} & {name for name, _value in report}
    assert {"--page", "--text", "--muted", "--line", "--good", "--bad", "--odd"} <= shared
    for name in shared:
        values = [[value for one, value in side if one == name] for side in (web, report)]
        assert values[0] == values[1], name
