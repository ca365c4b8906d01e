"""Names of files for display and for mail programs."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpualert_common.redact import Redactor


def clean_path(redactor: Redactor, path: str) -> str:
    r"""Return a path on one line with its secrets masked; control characters become ``\x0a``."""
    return "".join(c if c.isprintable() else _escape(c) for c in redactor.mask_text(path))


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00  # a byte that is not UTF-8
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_FORBIDDEN = dict.fromkeys(map(ord, '/\\:*?"<>|'), "_")
"""Characters that some system of a mail reader forbids in file names."""
_MOST_NAME_BYTES = 100


def make_attachment_name(path: str, used: set[str], ending: str = "") -> str:
    """Return an attachment name for the cleaned ``path`` plus ``ending``; add it to ``used``.

    The name has no folder and no control character, does not begin with a dot, has at most 100
    bytes of UTF-8, and differs from all names in ``used``, also on systems that ignore case.
    """
    name = path.rpartition("/")[2].translate(_FORBIDDEN).strip(". ") or "file"
    stem, dot, suffix = unicodedata.normalize("NFC", name).partition(".")
    suffix = _cut(dot + suffix, _MOST_NAME_BYTES // 2) + ending
    number = 1
    while True:
        mark = "" if number == 1 else f"-{number}"
        room = _MOST_NAME_BYTES - len(f"{mark}{suffix}".encode())
        name = f"{_cut(stem, room)}{mark}{suffix}"
        if name.casefold() not in used:
            used.add(name.casefold())
            return name
        number += 1


def _cut(text: str, most_bytes: int) -> str:
    return text.encode()[:most_bytes].decode("utf-8", "ignore")
