"""Details of a verdict: what patterns captured as text, as numbers and kinds.

Also the names that a rule's texts may refer to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from string import Formatter
from typing import Final

from gpualert_common.regex import compile_text

Scalar = str | int | float | bool | None
Details = Mapping[str, Scalar]

_SIZE = re.compile(r"^([\d.]{1,30})\s*([KMGTP]?)(i?)(?:B|bytes?)?$", re.IGNORECASE)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_LEAST_OF_OTHERS = 0.1
"""Share of a device: less may be contexts, and rounding in the message."""

_OTHER_PROCESS = re.compile(r"\bProcess (\d+) has ([\d.]+ ?[KMGT]?i?B) memory in use")
_NO_MODULE = compile_text(r"No module named ['\"]?([\w.-]+)")
_NUMBER = re.compile(r"^-?\d{1,18}$")


def parse_memory_size(text: str) -> int | None:
    """Return *text* ("91.60 GiB", "160.00MB", "4096", "2.5GiB") in bytes, None when it is no size.

    Without the "i" units are decimal.
    """
    match = _SIZE.match(text.strip())
    if match is None or match[1].count(".") > 1 or match[1] == ".":
        return None
    base = 1024 if match[3] else 1000
    factor: int = base ** _POWER[match[2].lower()]
    return round(float(match[1]) * factor)


def parse_details(captured: Mapping[str, str]) -> dict[str, Scalar]:
    """Return captured groups with sizes (names ending in ``_bytes``) and whole numbers as ``int``.

    A size that cannot be read is left out.
    """
    found: dict[str, Scalar] = {}
    for name, text in captured.items():
        if not name.endswith("_bytes"):
            found[name] = int(text) if _NUMBER.match(text) else text
        elif (size := parse_memory_size(text)) is not None:
            found[name] = size
    return found


_Sizes = Mapping[str, float]

_OOM_KINDS: tuple[tuple[str, tuple[str, ...], Callable[[_Sizes], bool]], ...] = (
    (
        "oversize",
        ("device_total_bytes",),
        lambda of: of["requested_bytes"] > of["device_total_bytes"],
    ),
    ("refused", ("free_bytes",), lambda of: of["requested_bytes"] <= of["free_bytes"]),
    (
        "co_tenant",
        ("other_process_bytes", "device_total_bytes"),
        lambda of: 2 * of["other_process_bytes"] > of["device_total_bytes"],
    ),
    (
        "co_tenant",
        ("other_process_bytes", "free_bytes"),
        lambda of: of["requested_bytes"] <= of["free_bytes"] + of["other_process_bytes"],
    ),
    (
        "fragmentation",
        ("reserved_unallocated_bytes",),
        lambda of: of["reserved_unallocated_bytes"] > of["requested_bytes"],
    ),
)
"""Reasons why GPU memory did not suffice, each with the sizes that it needs and its condition."""


def _explain_cuda_oom(details: Details) -> dict[str, Scalar]:
    """Return ``kind``: why the memory did not suffice, as far as the message alone shows it.

    Also what other processes held, and their numbers.
    """
    others = _find_other_processes(details)
    known = {**details, **others}
    sizes = {name: value for name, value in known.items() if isinstance(value, int | float)}
    if "requested_bytes" not in sizes:
        return {**others, "kind": "co_tenant"} if others else {}
    for kind, needed, fits in _OOM_KINDS:
        if all(name in sizes for name in needed) and fits(sizes):
            return {**others, "kind": kind}
    return {**others, "kind": "plain"}


def _find_other_processes(details: Details) -> dict[str, Scalar]:
    """Return the memory of the other processes on the device; empty if the message names none.

    PyTorch names each with its memory, or, in a container, only its own and the free memory; vLLM
    reports at its start how much of the card is free.
    """
    found = _OTHER_PROCESS.findall(str(details.get("message") or ""))
    if found:
        held = sum(parse_memory_size(size) or 0 for _pid, size in found)
        pids = " ".join(pid for pid, _size in found)
        return {"other_process_bytes": held, "other_pids": pids} if held else {}
    names = ("device_total_bytes", "free_bytes", "own_bytes")
    total, free, own = (details.get(name) for name in names)
    if isinstance(total, int) and isinstance(free, int) and isinstance(own, int):
        held = total - free - own
        return {"other_process_bytes": held} if held >= _LEAST_OF_OTHERS * total else {}
    total, free = (_parse_gib(details.get(name)) for name in ("total_at_start", "free_at_start"))
    if free is None or total is None or 2 * free > total:
        return {}
    return {"other_process_bytes": total - free, "device_total_bytes": total}


def _parse_gib(value: Scalar) -> int | None:
    return None if value is None else parse_memory_size(f"{value} GiB")


def _find_module(details: Details) -> dict[str, Scalar]:
    """Return ``module``: the name of any missing module, also of a part of a package."""
    if not {"module", "unquoted", "also"}.isdisjoint(details):
        return {}
    found = _NO_MODULE.search(str(details.get("message") or ""))
    return {} if found is None else {"module": found[1]}


_DERIVATIONS: dict[str, Callable[[Details], dict[str, Scalar]]] = {
    "cuda_oom": _explain_cuda_oom,
    "missing_module": _find_module,
}

GENERAL: Final = frozenset(
    {
        *("disposition", "exit_code", "rank", "status", "start_error", "signal_name", "because"),
        *("exception", "message", "file", "line", "function", "stop", "stopper", "no_status"),
    }
)
"""Names that a rule's texts may use, whatever its patterns capture."""

DERIVED: dict[str, tuple[str, ...]] = {"cuda_oom": ("kind", "other_pids")}
"""Names that are derived from captured ones, for each cause."""


def derive(cause: str, details: Details) -> dict[str, Scalar]:
    """Return *details* together with those that follow from them for *cause*."""
    derivation = _DERIVATIONS.get(cause)
    return {**details, **({} if derivation is None else derivation(details))}


def placeholders(template: str) -> set[str]:
    """Return the names in braces in *template*.  Raises ValueError when it is no template."""
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}
