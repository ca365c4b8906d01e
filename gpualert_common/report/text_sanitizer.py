"""Texts made safe to show: redacted, bounded, and without control characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gpualert_common.report.formatting import one_line, safe_line
from gpualert_common.whole_words import cut_words

LINE = 500
PROSE = 2000
MOST_ITEMS = 50
"""Claims, pieces of advice, warnings: a record with more of them is broken."""
_MOST_READ = 1 << 16
"""Characters of one text; the rest is ignored."""
_MASK = "[redacted "


class Masks(Protocol):
    """The part of :class:`gpualert_common.redact.Redactor` that is used here."""

    @property
    def found(self) -> Any:
        """Number of secrets of each kind that were masked so far."""

    def mask_text(self, text: str) -> str:
        """Return ``text`` with its secrets masked."""


class NoMasks:
    """Masks nothing: for a user who reads a record on the machine of the run."""

    found: Mapping[str, int] = {}

    def mask_text(self, text: str) -> str:
        """Return ``text`` as it is."""
        return text


class TextSanitizer:
    """Makes a text of any value, safe to show; empty for a value that is no text.

    Secrets are masked first: a cut or a joined line could make one unrecognisable.
    """

    def __init__(self, masks: Masks) -> None:
        self.masks = masks
        self._in_excerpts = 0

    @property
    def masked(self) -> int:
        """Number of secrets that were masked so far."""
        return self._in_excerpts + int(sum(self.masks.found.values()))

    def line(self, value: object, most: int = LINE) -> str:
        """Return the text on one line of at most ``most`` characters."""
        return one_line(self._mask(value), most)

    def prose(self, value: object) -> str:
        """Return the text on one line that may be as long as a paragraph."""
        return self.line(value, PROSE)

    def excerpt(self, value: str | None) -> str:
        """Return an excerpt as :meth:`line` does; the masks that it has already are counted."""
        self._in_excerpts += (value or "").count(_MASK)
        return self.line(value)

    def log_line(self, value: object) -> str:
        """Return a line of a log with its blanks."""
        return safe_line(self._mask(value), LINE)

    def paragraphs(self, values: Sequence[str]) -> tuple[str, ...]:
        """Return those of the first values that are not empty."""
        return tuple(text for one in values[:MOST_ITEMS] if (text := self.prose(one)))

    def _mask(self, value: object) -> str:
        return self.masks.mask_text(cut_words(value, _MOST_READ)) if isinstance(value, str) else ""
