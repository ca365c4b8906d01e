"""Text of events as JSON: the borders between them, and repair of what JSON does not allow."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from gpualert_common.regex import compile_bytes

SPACES = b" \t\r\n"
_MOST_BRACKETS = 200_000
"""Brackets of a batch that are looked at; one of real events has 50,000."""
_CPP_NUMBER = compile_bytes(
    rb"""([^\\ \t\r\n{[,:]"[ \t\r\n]*:[ \t\r\n]*)-?(?:inf|nan)([ \t\r\n]*[,}\]])""",
    spans_lines=True,
)
"""A key and its value as C++ writes one that is no finite number.  The character before the quote
stands neither before a text nor before a quote within one, so that the quote ends the key."""


def find_borders(text: bytes) -> Iterator[int]:
    """Yield the places of commas that may stand between two events, from the last."""
    at = len(text)
    for _ in range(_MOST_BRACKETS):
        at = text.rfind(b"{", 0, at)
        if at <= 0:
            return
        start = max(0, at - 256)
        before = text[start:at].rstrip(SPACES)
        if before[-1:] == b"," and before[:-1].rstrip(SPACES)[-1:] == b"}":
            yield start + len(before) - 1


def find_ends(text: bytes) -> Iterator[int]:
    """Yield the places of brackets that may close the events, from the first."""
    at = -1
    for _ in range(_MOST_BRACKETS):
        at = text.find(b"]", at + 1)
        if at < 0:
            return
        before = text[max(0, at - 256) : at].rstrip(SPACES)
        if before[-1:] == b"}" or (not before and at < 256):
            yield at


def repair_events(text: bytes) -> list[bytes] | None:
    """Return the events of an array that has NaN, infinity, or characters that are none.

    Kineto writes such numbers as C++ does: ``"blocks per SM": inf``.
    """
    text = _CPP_NUMBER.sub(rb"\1null\2", text)
    try:
        found = json.loads(text.decode("utf-8", "replace"), parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    parts = []
    for one in found:
        try:
            parts.append(msgspec.json.encode(one))
        except (UnicodeError, RecursionError):
            parts.append(b"null")
    return parts


def replace_bad_bytes(text: bytes) -> bytes:
    """Return the text as valid UTF-8."""
    return text.decode("utf-8", "replace").encode()
