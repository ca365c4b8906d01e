"""Estimated width of a text in a picture, whose font the reader's browser chooses."""

from __future__ import annotations

from gpualert_common.report.formatting import columns

_WIDTH_OF_COLUMN = 0.58
"""Of the font size: the mean of letters and digits in Arial, Helvetica and Liberation Sans."""


def estimate_width(text: str, font_size: float) -> float:
    """Return the width in the units of the font size; wide characters count twice."""
    return columns(text) * _WIDTH_OF_COLUMN * font_size
