"""Fields in the output of Slurm's commands: numbers, times and texts, each within limits."""

from __future__ import annotations

import time

from gpualert_common.quantities import is_time

_MOST_DIGITS = 16
_MOST_CHARS = 4096
_MOST_SECONDS = 365 * 86400


def parse_number(text: str) -> int | None:
    """Return a number; None for an empty field and for damage."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else None


def parse_time(text: str) -> float | None:
    """Return a time in seconds since the epoch; None for "Unknown" and for damage."""
    number = parse_number(text)
    return float(number) if number and is_time(number) else None


def parse_exit_code(text: str) -> tuple[int | None, int | None]:
    """Return exit code and signal from "1:0" or "0:9"."""
    code, _colon, signal = text.partition(":")
    return parse_number(code), parse_number(signal)


def clean_text(text: str) -> str:
    """Return a text that people may have written, without control characters."""
    return "".join(one for one in text[:_MOST_CHARS] if one.isprintable()).strip()


def format_time(at: float) -> str:
    """Return a time as an option of Slurm's commands has it."""
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(max(now - _MOST_SECONDS, at)))
