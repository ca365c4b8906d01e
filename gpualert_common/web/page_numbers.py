"""Numbers of pages, as addresses have them."""

from __future__ import annotations


def read_page(text: str, pages: int) -> int:
    """Return the number of a page from the query of an address: one of those that exist."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 1
    return min(max(number, 1), pages)
