"""Text that a terminal shows as it is, and does not obey."""

from __future__ import annotations

REPLACEMENTS = dict.fromkeys(
    (
        *range(0x20),
        *range(0x7F, 0xA0),
        *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xD800, 0xE000),
    ),
    "\ufffd",
)
"""By code, the replacements of characters that are not shown: control characters, marks that change
the order of reading, and lone surrogates, which cannot be sent."""


def make_printable(line: str) -> str:
    """Return a line without control characters; a line break within it is one, too."""
    return line.translate(REPLACEMENTS)


def format_messages(*lines: str) -> str:
    """Return gpualert's own messages, each on one line that says whose it is."""
    return "".join(f"gpualert: {make_printable(line)}\n" for line in lines)
