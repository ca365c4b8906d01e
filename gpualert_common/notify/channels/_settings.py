"""Parsers of channel settings.  Each raises ValueError with the reason.

None of them shows the value of a setting that may be a secret.
"""

from __future__ import annotations

import os
import re

from gpualert_common.settings import parse_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gpualert_common.model import ReportForm

_ATOM = r"[^\s<>()\[\],;:\\\"@\x00-\x1f\x7f]+"
_ADDRESS = re.compile(rf"{_ATOM}@(?:{_ATOM}|\[[0-9A-Za-z.:]+\])")
_NAMED = re.compile(rf"[^\x00-\x1f\x7f<>]*<({_ADDRESS.pattern})>")


def text(value: Any) -> str:
    """Return a line that is not empty."""
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError("a line of text is needed, not empty and without control characters")
    return value


def one_of(*choices: str) -> Callable[[Any], str]:
    """Return a function that accepts only these words."""

    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"{value!r} is not one of {', '.join(choices)}")
        return str(value)

    return read


REPORT_CHOICES = ("attach", "none")


def report(value: Any) -> str:
    """Return one of :data:`REPORT_CHOICES`."""
    return one_of(*REPORT_CHOICES)(value)


def choose_report(settings: Mapping[str, Any], form: str) -> ReportForm:
    """Return the form of the report in a message, that of the channel; none if switched off."""
    from gpualert_common.model import ReportForm

    return ReportForm.NONE if settings.get("report") == "none" else ReportForm(form)


def port(value: Any) -> int:
    """Return the number of a TCP port."""
    number = value if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not str(number).strip().isdecimal() or not 0 < int(number) < 1 << 16:
        raise ValueError(f"{value!r} is not a port from 1 to 65535")
    return int(number)


def size(value: Any) -> int:
    """Return a number of bytes, also from text such as "10MB"."""
    return parse_size(value)


def path(value: Any) -> str:
    """Return an absolute path; "~" is the user's home."""
    return os.path.abspath(os.path.expanduser(text(value)))


def address(value: Any) -> str:
    """Return a mail address, with or without a name before it."""
    given = text(value).strip()
    if not _ADDRESS.fullmatch(given) and not _NAMED.fullmatch(given):
        raise ValueError(f"{given!r} is no mail address such as me@example.org")
    return given


def addresses(value: Any) -> list[str]:
    """Return plain mail addresses, from a list or from text with commas; each once."""
    entries = value.split(",") if isinstance(value, str) else value
    if not isinstance(entries, list | tuple):
        raise ValueError(f"{value!r} is no list of mail addresses")
    found = [text(entry).strip() for entry in entries if entry != ""]
    for entry in found:
        if not _ADDRESS.fullmatch(entry):
            raise ValueError(f"{entry!r} is no mail address such as me@example.org")
    if not found:
        raise ValueError("at least one mail address is needed")
    return list(dict.fromkeys(found))
