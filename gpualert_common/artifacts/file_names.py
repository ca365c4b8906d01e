"""Names of files as people and mail programs may see them."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpualert_common.redact import Redactor


def shown(redactor: Redactor, path: str) -> str:
    r"""A path on one line, without secrets; what no screen should get reads ``\x0a``."""
    return "".join(c if c.isprintable() else _escaped(c) for c in redactor.text(path))


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00  # a byte that is not UTF-8
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_FORBIDDEN = dict.fromkeys(map(ord, '/\\:*?"<>|'), "_")
"""Not in a name on one of the systems that mail is read on."""
_MOST_NAME_BYTES = 100


def attachment_name(path: str, taken: set[str], ending: str = "") -> str:
    """A name for what was ``path`` (as :func:`shown`), plus ``ending``; added to ``taken``.

    It has no folder and no control character, begins with no dot, is at most 100 bytes of UTF-8,
    and no other in ``taken`` is the same, also where capitals do not count.
    """
    name = path.rpartition("/")[2].translate(_FORBIDDEN).strip(". ") or "file"
    stem, dot, suffix = unicodedata.normalize("NFC", name).partition(".")
    suffix = _cut(dot + suffix, _MOST_NAME_BYTES // 2) + ending
    number = 1
    while True:
        mark = "" if number == 1 else f"-{number}"
        room = _MOST_NAME_BYTES - len(f"{mark}{suffix}".encode())
        name = f"{_cut(stem, room)}{mark}{suffix}"
        if name.casefold() not in taken:
            taken.add(name.casefold())
            return name
        number += 1


def _cut(text: str, most_bytes: int) -> str:
    return text.encode()[:most_bytes].decode("utf-8", "ignore")
