"""The middle of a text, masked by what the text shows before it."""

from __future__ import annotations

from gpualert_common.redact.redactor import Redactor
from gpualert_common.whole_words import ends_word

MARGIN_CHARS = 8 << 10
"""Characters before and after that are searched for secrets; longer than most keys."""
_MOST_OF_A_WORD = 100


def mask_middle(text: str, begin: int, length: int) -> str:
    """Return the masked text from the word around *begin* on; *length* characters are needed."""
    start = begin
    while start > max(0, begin - _MOST_OF_A_WORD) and not ends_word(text[start - 1]):
        start -= 1
    first = max(0, start - MARGIN_CHARS)
    before = text[first:start].encode("utf-8", "surrogatepass")
    rest = text[start : begin + length + MARGIN_CHARS].encode("utf-8", "surrogatepass")
    return Redactor().mask_from(before + rest, len(before)).decode("utf-8", "replace")
