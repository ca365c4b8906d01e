"""Logs for download: whole, with secrets masked, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import FileIO

from gpualert_common.artifacts.masking import mask_stream
from gpualert_common.record import Record
from gpualert_common.redact import Redactor

_BLOCK_BYTES = 256 << 10


def stream_log(record: Record, name: str) -> Iterator[bytes]:
    """Return the log as it is now, in masked pieces.  Raises OSError if it cannot be opened."""
    # A file object: it closes itself, too, where the client leaves before the first piece.
    file = open(record.open_log(name), "rb", buffering=0)  # noqa: SIM115 - closed by its reader
    return mask_stream(Redactor(), _read_blocks(file, os.fstat(file.fileno()).st_size))


def _read_blocks(file: FileIO, size: int) -> Iterator[bytes]:
    """Yield the first *size* bytes; a log that grows faster than its reader has no end."""
    with file:
        while size > 0 and (block := file.read(min(_BLOCK_BYTES, size))):
            size -= len(block)
            yield block
