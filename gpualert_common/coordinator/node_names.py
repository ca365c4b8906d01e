"""Names of nodes in Slurm's short form, such as "gpu[01-03,07],login1"."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MOST_NODES = 64
_SPAN = r"[0-9]{1,9}(?:-[0-9]{1,9})?"
_PART = re.compile(rf"([^\[\],\s]*)(?:\[({_SPAN}(?:,{_SPAN})*)\])?([^\[\],\s]*)")


def expand_node_names(text: str) -> tuple[str, ...]:
    """Return the names; empty for a form that is not known, and for more than 64 nodes."""
    found: list[str] = []
    position = 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None or not part[0]:
            return ()
        for number in _list_numbers(part[2]) if part[2] else ("",):
            found.append(f"{part[1]}{number}{part[3]}")
            if len(found) > _MOST_NODES:
                return ()
        position = part.end() + 1
        if text[part.end() : position] not in (",", ""):
            return ()
    return tuple(found)


def _list_numbers(text: str) -> Iterator[str]:
    """Yield the numbers of "01-03,07", with their leading zeros."""
    for span in text.split(","):
        first, _, last = span.partition("-")
        for number in range(int(first), int(last or first) + 1):
            yield f"{number:0{len(first)}d}"
