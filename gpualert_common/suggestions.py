"""Suggestions for a name that does not exist: the known name that is spelled most like it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

SIMILAR = 0.6
"""Share of equal letters from which on a name can be meant: the default of difflib."""
ALMOST_EQUAL = 0.8
"""The same for a name that need not be one of ours."""


def find_similar(name: str, known: Collection[str], least: float = SIMILAR) -> str | None:
    """Return the known name that is spelled most like ``name``; None if none is near."""
    from difflib import get_close_matches  # only after a mistake

    found = get_close_matches(name.lower(), [one.lower() for one in known], 1, least)
    return next((one for one in known if one.lower() in found), None)


def suggest(name: str, known: Collection[str]) -> str:
    """Return the end of an error message about a name: ``; did you mean NAME?``, or nothing."""
    similar = find_similar(name, known)
    return f"; did you mean {similar}?" if similar else ""


def suggest_or_list(name: str, known: Collection[str]) -> str:
    """Return the same, with all known names if none of them is near."""
    return suggest(name, known) or f"; known are {', '.join(known)}"
