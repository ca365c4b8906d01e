"""Colours of a terminal, and whether the output has any."""

from __future__ import annotations

import os

_FORCES = ("FORCE_COLOR", "CLICOLOR_FORCE")


def has_colours(fd: int) -> bool:
    """True if the output on a descriptor is coloured: as a rule, on a terminal that can do it.

    ``NO_COLOR`` switches colours off; ``FORCE_COLOR`` or ``CLICOLOR_FORCE`` switches them on where
    there is no terminal, as for Python's own tools.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if any(
        os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")
    ):
        return True
    return os.isatty(fd) and os.environ.get("TERM", "dumb") != "dumb"
