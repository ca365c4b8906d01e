"""A pattern of the kernel's log, and the message that a matching record yields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpualert_common.regex import compile_text
from gpualert_common.structs import Struct, field
from gpualert_common.whole_words import cut_words

TEXT_CHARS = 500

_NUMBER_GROUPS = frozenset(
    ("count", "cpu", "injected", "limit", "link", "pid", "seconds", "sector", "sxid", "uid", "xid")
)


class KernelMessage(Struct, frozen=True):
    """A message of the kernel: ``what`` is its kind, ``of`` the entity that it concerns."""

    what: str
    of: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)


class KernelPattern:
    """A pattern of one kind of message; every match contains ``literal``, which is searched first.

    The groups of ``expression`` become the fields of the message.  ``about`` names the group for
    the entity of the message.  ``fixed`` holds constant fields.
    """

    def __init__(
        self, what: str, literal: str, expression: str, about: str = "", **fixed: Any
    ) -> None:
        self.what = what
        self.literal = literal
        self._regex = compile_text(expression, is_dot_all=True)  # a name may hold a line end
        self._about = about
        self._fixed = fixed

    def parse(self, text: str) -> KernelMessage | None:
        """Return the message in *text*; None if it does not match."""
        if self.literal not in text:
            return None
        match = self._regex.search(text)
        if match is None:
            return None
        found = {**self._fixed, **convert_groups(match.groupdict())}
        of = f"{self._about}:{found[self._about]}" if self._about in found else "host"
        return KernelMessage(self.what, of, cut_words(text, TEXT_CHARS), found)


def convert_groups(groups: Mapping[str, str | None]) -> dict[str, int | str]:
    """Return the groups that matched, with numbers as integers and PCI addresses normalized.

    A PCI address is in lower case, without its function.
    """
    fields: dict[str, int | str] = {}
    for name, value in groups.items():
        if not value or value == "<unknown>":
            continue
        if name == "pci":
            fields[name] = value.lower().partition(".")[0]
        else:
            fields[name] = int(value) if name in _NUMBER_GROUPS and value.isdigit() else value
    return fields
