"""Estimated width of a text in a picture, whose font the reader's browser chooses."""

from __future__ import annotations

from gpualert_common.report.formatting import columns

_NARROW = frozenset(" ijlftrI.,:;'|()[]/-")
_WIDE = frozenset("mwMW%@")
_MARGIN = 1.16
"""DejaVu Sans, which a machine without other fonts has, is wider than Arial."""


def estimate_width(text: str, font_size: float) -> float:
    """Return the width in the units of the font size, as in Arial, Helvetica, Liberation Sans."""
    return _MARGIN * font_size * sum(map(_estimate_character, text))


def _estimate_character(char: str) -> float:
    if char in _NARROW:
        return 0.3
    if char in _WIDE:
        return 0.86
    if not char.isascii():
        return 0.62 * columns(char)
    return 0.68 if char.isupper() else 0.55
