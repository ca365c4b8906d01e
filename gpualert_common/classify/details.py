"""Details of a verdict: what patterns captured as text, turned into numbers and kinds.

Also the names that a rule's words may refer to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any, Final

_SIZE = re.compile(r"^([\d.]{1,30})\s*([KMGTP]?)(i?)(?:B|bytes?)?$", re.IGNORECASE)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_NUMBER = re.compile(r"^-?\d{1,18}$")


def parse_size(text: str) -> int | None:
    """*text* ("91.60 GiB", "160.00MB", "4096", "2.5GiB") in bytes, None when it is no size.

    Without the "i" units are decimal.
    """
    match = _SIZE.match(text.strip())
    if match is None or match[1].count(".") > 1 or match[1] == ".":
        return None
    base = 1024 if match[3] else 1000
    factor: int = base ** _POWER[match[2].lower()]
    return round(float(match[1]) * factor)


def typed(captured: Mapping[str, str]) -> dict[str, Any]:
    """Captured groups with sizes (names ending in ``_bytes``) and whole numbers as ``int``."""
    found: dict[str, Any] = {}
    for name, text in captured.items():
        if name.endswith("_bytes"):
            size = parse_size(text)
            if size is not None:
                found[name] = size
        elif _NUMBER.match(text):
            found[name] = int(text)
        else:
            found[name] = text
    return found


def _cuda_oom(details: dict[str, Any]) -> None:
    """``kind``: why the memory did not suffice, as far as the message alone tells."""
    requested = details.get("requested_bytes")
    total = details.get("device_total_bytes")
    free = details.get("free_bytes")
    other = details.get("other_process_bytes")
    reserved = details.get("reserved_unallocated_bytes")
    if requested is None:
        return
    if total is not None and requested > total:
        details["kind"] = "oversize"
    elif free is not None and requested <= free:
        details["kind"] = "refused"
    elif other is not None and total is not None and 2 * other > total:
        details["kind"] = "co_tenant"
    elif reserved is not None and reserved > requested:
        details["kind"] = "fragmentation"
    else:
        details["kind"] = "plain"


_DERIVATIONS: dict[str, Callable[[dict[str, Any]], None]] = {"cuda_oom": _cuda_oom}

GENERAL: Final = frozenset(
    {
        *("disposition", "exit_code", "rank", "status", "start_error", "signal_name", "because"),
        *("exception", "message", "file", "line", "function"),
    }
)
"""Names that words may use whatever the patterns of their rule capture."""

DERIVED: dict[str, tuple[str, ...]] = {"cuda_oom": ("kind",)}
"""Names that are derived from captured ones, for each cause."""


def derive(cause: str, details: dict[str, Any]) -> dict[str, Any]:
    """*details* with what follows from them for *cause* added."""
    derivation = _DERIVATIONS.get(cause)
    if derivation is not None:
        derivation(details)
    return details


def placeholders(template: str) -> set[str]:
    """The names in braces in *template*.  Raises ValueError when it is no template."""
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}
