"""The end of a log, read with bounded memory."""

from __future__ import annotations

import os
from typing import BinaryIO

_BLOCK_BYTES = 64 << 10


def read_end(file: BinaryIO, most_bytes: int) -> tuple[bytes, int]:
    """Return the last bytes of a file, and the offset at which they begin.  Raises OSError."""
    start = max(0, file.seek(0, os.SEEK_END) - most_bytes)
    file.seek(start)
    return file.read(most_bytes), start


def read_last_line(file: BinaryIO, most_bytes: int, *, skip_blank: bool = False) -> bytes:
    """Return the last line of a file without its line feed; a longer one is cut at its front.

    With ``skip_blank`` white space at the end of the file is ignored.  Raises OSError.
    """
    size = _BLOCK_BYTES
    while True:
        end, start = read_end(file, min(size, most_bytes))
        text = end.rstrip() if skip_blank else end.removesuffix(b"\n")
        if start == 0 or size >= most_bytes or b"\n" in text:
            return text.rpartition(b"\n")[2]
        size *= 16
