"""Failures of a server whose log this is, too: its client only reports the answer 500."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gpualert_common.classify.candidates import Candidate
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.regex import compile_bytes, compile_text

_ANSWERED: Final = compile_bytes(rb'" 500\b')
"""A record of an access log, of which each web server has the status behind the request."""

_REPORTED: Final = compile_text(
    r"(?i)\b500\b.{0,40}internal server error|\bstatus(?:[ _]code)?\W{1,3}500\b"
)
"""An exception of a client whose request a server could not answer."""


def is_behind_answer(one: Candidate, other: Candidate, readings: Sequence[LogReading]) -> bool:
    """Return whether *other* is a client's report of the failure *one* of its server.

    The server logs the exception, then the answer 500, and then the client fails.
    """
    if one.head is None or other.head is None or one.place >= other.place:
        return False
    if one.file != other.file or not _REPORTED.search(other.head.text):
        return False
    reading = next(reading for reading in readings if reading.file == one.file)
    start, end = (place - reading.tail_offset for place in (one.place.offset, other.place.offset))
    return start >= 0 and _ANSWERED.search(reading.tail[start:end]) is not None
