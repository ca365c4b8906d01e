"""Texts cut after a whole word, or before a whole line.

A part of a token matches no pattern of a secret, so a text that is cut before it is redacted must
not end in one.  Redaction recognizes a secret of several words by its beginning.
"""

from __future__ import annotations

MARK = "…"
_ENDS_OF_WORDS = frozenset("\"'<>")


def cut_words(text: str, most: int) -> str:
    """Return *text*, or its first whole words and :data:`MARK`, in at most *most* characters.

    A blank is before the mark: it is no part of the last word.
    """
    if len(text) <= most:
        return text
    end = most - len(MARK) - 1
    while end > 0 and not ends_word(text[end]):
        end -= 1
    return f"{text[: max(0, end)].rstrip()} {MARK}".lstrip()


def cut_to_last_words(text: str, most: int) -> str:
    """Return *text*, or its last whole words, in at most *most* characters."""
    begin = max(0, len(text) - most)
    while 0 < begin < len(text) and not ends_word(text[begin - 1]):
        begin += 1
    return text[begin:]


def cut_to_last_lines(text: str, most: int) -> str:
    """Return *text*, or its last whole lines, in at most *most* characters."""
    return text if len(text) <= most else text[-most:].partition("\n")[2]


def ends_word(character: str) -> bool:
    """True for a blank, a quotation mark and an angle bracket: no token contains them."""
    return character.isspace() or character in _ENDS_OF_WORDS
