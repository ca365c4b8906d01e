"""The start of a file that another program may still be writing."""

from __future__ import annotations

from typing import BinaryIO


class FileStart:
    """Stream of the first ``size`` bytes of a file; fewer where the file is cut meanwhile."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size

    def read(self, most_bytes: int) -> bytes:
        """Return the next bytes; b"" at the end."""
        data = self._file.read(min(most_bytes, self._left))
        self._left -= len(data)
        return data
