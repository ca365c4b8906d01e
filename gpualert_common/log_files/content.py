"""Content of a file, by its first bytes: text in some encoding, or no text at all."""

from __future__ import annotations

import codecs

HEAD_BYTES = 64 << 10
"""Bytes by which a content is recognized."""

_MARKS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)
_BINARY = (
    (b"\x7fELF", "a program (ELF)"),
    (b"PK\x03\x04", "a zip archive, or a checkpoint of PyTorch"),
    (b"SQLite format 3\0", "a database of SQLite"),
    (b"PAR1", "a table in Parquet"),
    (b"ARROW1", "a table in Arrow"),
    (b"\x89HDF\r\n\x1a\n", "data in HDF5"),
    (b"\x93NUMPY", "an array of NumPy"),
    (b"\x89PNG", "an image"),
    (b"GGUF", "a model in GGUF"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x04\x22\x4d\x18", "compressed by lz4"),
    *((bytes((0x80, protocol)), "a pickle of Python") for protocol in range(2, 6)),
)
_CONTROLS = bytes({*range(32), 127} - {*b"\b\t\n\v\f\r\x07\x1b"})
_MOST_CONTROLS = 0.04
"""Share of control characters in text; in random bytes it is 0.1."""
_LEAST_NULS = 0.7
"""Share of NULs among the high bytes of UTF-16 that is mostly ASCII."""


def find_encoding(head: bytes) -> tuple[str, int] | None:
    """Return the encoding of a text that is not plain bytes, and the length of its mark.

    The shell of Windows writes UTF-16; without a mark it is recognized by its NULs.
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding, len(mark)
    low, high = head[0:HEAD_BYTES:2], head[1:HEAD_BYTES:2]
    if not high:
        return None
    nuls_low, nuls_high = low.count(0) / len(low), high.count(0) / len(high)
    if nuls_high >= _LEAST_NULS and nuls_low < _MOST_CONTROLS:
        return "utf-16-le", 0
    if nuls_low >= _LEAST_NULS and nuls_high < _MOST_CONTROLS:
        return "utf-16-be", 0
    return None


def describe_binary(head: bytes) -> str | None:
    """Return what a content is that is no text, None for text.

    NULs do not count: they are the hole of a log that was truncated while a program wrote it, or
    the end of one whose last blocks a crash lost.
    """
    for magic, kind in _BINARY:
        if head.startswith(magic):
            return kind
    if head[257:262] == b"ustar":
        return "a tar archive"
    if b"brain.Event:" in head[:64]:
        return "an event file of TensorBoard"
    text = head.replace(b"\0", b"")
    controls = len(text) - len(text.translate(None, _CONTROLS))
    return "binary data" if controls > _MOST_CONTROLS * len(text) else None
