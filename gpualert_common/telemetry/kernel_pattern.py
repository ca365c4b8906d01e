"""One form of words in the kernel's log, and what it says when a record is of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpualert_common.regex import compile_text

TEXT_CHARS = 500

_NUMBERS = frozenset(
    ("count", "cpu", "injected", "limit", "link", "pid", "seconds", "sector", "sxid", "uid", "xid")
)


@dataclass(frozen=True, slots=True)
class KernelMessage:
    """Something that the kernel said: ``what`` is its kind, ``of`` what it is about."""

    what: str
    of: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)


class KernelPattern:
    """One form of words; ``literal`` stands in every one of them, and is looked for first.

    The groups of ``expression`` become the message's fields; ``about`` names the one that it is
    about, and ``fixed`` holds fields that the form itself decides.
    """

    def __init__(
        self, what: str, literal: str, expression: str, about: str = "", **fixed: Any
    ) -> None:
        self.what = what
        self.literal = literal
        self._regex = compile_text(expression, is_dot_all=True)  # a name may hold a line end
        self._about = about
        self._fixed = fixed

    def message(self, text: str) -> KernelMessage | None:
        """What *text* says, None where it is not of this form."""
        if self.literal not in text:
            return None
        match = self._regex.search(text)
        if match is None:
            return None
        found = {**self._fixed, **typed(match.groupdict())}
        of = f"{self._about}:{found[self._about]}" if self._about in found else "host"
        return KernelMessage(self.what, of, text[:TEXT_CHARS], found)


def typed(groups: Mapping[str, str | None]) -> dict[str, Any]:
    """The groups that matched: numbers, and a PCI address in lower case without its function."""
    fields: dict[str, Any] = {}
    for name, value in groups.items():
        if not value or value == "<unknown>":
            continue
        if name == "pci":
            fields[name] = value.lower().partition(".")[0]
        else:
            fields[name] = int(value) if name in _NUMBERS and value.isdigit() else value
    return fields
