"""The last line of a log, which is what a BashOperator returns."""

from __future__ import annotations

import os

_BLOCK_BYTES = 64 << 10
_MOST_BYTES = 16 << 20
"""A last line longer than this is cut to its end: what is returned goes into a database."""


def last_line(path: str, encoding: str) -> str:
    """The last line as BashOperator returns it: decoded, without white space at its end.

    "" for an empty log and for one that ends in an empty line.  At most its last 16 MiB.
    """
    blocks: list[bytes] = []
    with open(path, "rb") as file:
        start = file.seek(0, os.SEEK_END)
        while start > 0 and len(blocks) * _BLOCK_BYTES < _MOST_BYTES:
            size = min(_BLOCK_BYTES, start)
            start -= size
            file.seek(start)
            block = file.read(size)
            if not blocks:
                block = block.removesuffix(b"\n")
            _, newline, last = block.rpartition(b"\n")
            blocks.append(last)
            if newline:
                break
    return b"".join(reversed(blocks)).decode(encoding, errors="backslashreplace").rstrip()
