"""Times, sizes and lines in the form that people read: the filters of the templates."""

from __future__ import annotations

import time as clock
import unicodedata

from gpualert_common.printable_text import REPLACEMENTS, make_printable

COLUMNS = 78
MOST_SUBJECT = 120
"""Characters: mail programs show less, and a header line may hold no more than 998 bytes."""

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_REPLACEMENTS_IN_LINES = {
    code: mark for code, mark in REPLACEMENTS.items() if chr(code) not in "\n\t"
}


def duration(seconds: float | None) -> str:
    """Return ``0.4 s``, ``12 s``, ``3 min 20 s``, ``2 h 05 min``; "an unknown time" for None."""
    if seconds is None:
        return "an unknown time"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def short_duration(seconds: float) -> str:
    """Return ``0.4s``, ``12s``, ``3m20s``, ``2h05m``, ``4d03h``: at most six characters."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


def hours(seconds: float) -> str:
    """Return seconds as hours: ``0.25``; with one decimal from ten hours on."""
    value = seconds / 3600
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}"


def size(count: int | None) -> str:
    """Return ``12.4 KiB``; "unknown size" for None."""
    if count is None:
        return "unknown size"
    value, unit = float(count), _UNITS[0]
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"


def time(at: float | None, zone: str = "UTC") -> str:
    """Return ``2026-11-21 12:37:05 UTC``; with "local" the time of this host and its UTC offset."""
    try:
        if not at:
            return "an unknown time"
        if zone == "local":
            return clock.strftime("%Y-%m-%d %H:%M:%S %z", clock.localtime(at))
        return clock.strftime("%Y-%m-%d %H:%M:%S UTC", clock.gmtime(at))
    except (OverflowError, ValueError, OSError):
        return "an unknown time"


def wrap(text: str, width: int = COLUMNS, indent: str = "", *, breaks: bool = False) -> str:
    """Return ``text`` in lines of at most ``width`` columns, ``indent`` included.

    The first line has no indent: the caller puts the mark of the list there.  A wide character
    takes two columns.  A word without wide characters is only broken with ``breaks``: it may be a
    path or an address.
    """
    room = width - columns(indent)
    lines: list[list[str]] = [[]]
    used = 0
    for word in _words(text, room, breaks=breaks):
        taken = columns(word)
        if lines[-1] and used + 1 + taken > room:
            lines.append([])
            used = 0
        used += taken + bool(lines[-1])
        lines[-1].append(word)
    return f"\n{indent}".join(" ".join(line) for line in lines)


def columns(text: str) -> int:
    """Return the number of terminal columns that ``text`` takes."""
    if text.isascii():
        return len(text)
    return sum(_column(char) for char in text)


def one_line(text: str, most: int) -> str:
    """Return ``text`` on one line of at most ``most`` characters, safe to show; "…" marks a cut."""
    line = make_printable(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def safe_line(text: str, most: int) -> str:
    """Return a line as :func:`one_line` does, but with its blanks."""
    line = make_printable(text.expandtabs().rstrip())
    return line if len(line) <= most else line[: most - 1] + "…"


def safe_lines(text: str) -> str:
    """Return ``text`` with its lines, and without control characters."""
    return text.translate(_REPLACEMENTS_IN_LINES)


def _words(text: str, width: int, *, breaks: bool) -> list[str]:
    words = []
    for word in text.split():
        if columns(word) <= width or not (breaks or any(_column(char) == 2 for char in word)):
            words.append(word)
        else:
            words += _pieces(word, width)
    return words


def _pieces(word: str, width: int) -> list[str]:
    pieces, used = [""], 0
    for char in word:
        if used + _column(char) > width and pieces[-1]:
            pieces.append("")
            used = 0
        pieces[-1] += char
        used += _column(char)
    return pieces


def _column(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
