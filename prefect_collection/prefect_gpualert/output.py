"""What a training wrote, read back from its log with bounded memory."""

from __future__ import annotations

import os

_LAST_LINE_BYTES = 64 << 10
"""A longer last line is cut at its front."""
_ALL_LINES_BYTES = 32 << 20
_TAIL_LINES = 20
_TAIL_BYTES = 8 << 10


def last_line(path: str) -> str:
    """The last line without the white space at its end; "" for an empty log."""
    return _lines(path, _LAST_LINE_BYTES)[0][-1]


def all_lines(path: str) -> tuple[list[str], int]:
    """Every line, and how many bytes were left out at the front: at most 32 MiB are read."""
    lines, left_out = _lines(path, _ALL_LINES_BYTES)
    return ([] if lines == [""] and not left_out else lines), left_out


def tail(path: str) -> list[str]:
    """The last lines, for an error message: at most 20 and 8 KiB."""
    lines = _lines(path, _TAIL_BYTES)[0]
    return [] if lines == [""] else lines[-_TAIL_LINES:]


def _lines(path: str, most_bytes: int) -> tuple[list[str], int]:
    with open(path, "rb") as file:
        start = max(0, file.seek(0, os.SEEK_END) - most_bytes)
        file.seek(start)
        text = file.read(most_bytes).decode("utf-8", "replace")
    return text.rstrip().split("\n"), start
