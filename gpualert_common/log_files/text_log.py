"""A log as text: the pieces of a file, decompressed and decoded where it needs that."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

from gpualert_common.log_files.compression import READ_BYTES, Decompression, find_format
from gpualert_common.log_files.content import HEAD_BYTES, describe_binary, find_encoding

MOST_BYTES = 16 << 30
"""Bytes of decompressed text that are read: some minutes of work.  A small archive may hold any
number."""


class TextLog:
    """Text of one log, as UTF-8 or as the plain bytes that it has.

    Iterate once, then read ``problems``: pairs of the kind of a warning and the text behind the
    name of the log.  Memory is flat.  Raises only OSError, when the file cannot be read.
    """

    def __init__(self, stream: BinaryIO, most_bytes: int = MOST_BYTES) -> None:
        self.problems: list[tuple[str, str]] = []
        self._stream = stream
        self._most_bytes = most_bytes

    def __iter__(self) -> Iterator[bytes]:
        head, pieces = _split_head(self._read())
        form = find_format(head)
        if form is not None:
            decompression = Decompression(form, pieces)
            head, pieces = _split_head(self._limit(iter(decompression)))
        inner = find_format(head)
        binary = f"compressed by {inner}" if form and inner else describe_binary(head)
        encoding = find_encoding(head)
        if binary is not None and encoding is None:
            self.problems.append(("not_text", f"is not a text log but {binary}; it was not read"))
            return
        decoded = [one for one in (form, encoding and encoding[0]) if one]
        if encoding is not None:
            pieces = _decode(pieces, *encoding)
        yield from pieces
        if form is not None and decompression.problem:
            kind = "log_cut" if head else "not_read"
            self.problems.append((kind, decompression.problem))
        if decoded and head:
            how = f"was decoded from {' and '.join(decoded)}: lines and offsets are of the text"
            self.problems.append(("decoded", how))

    def _read(self) -> Iterator[bytes]:
        while data := self._stream.read(READ_BYTES):
            yield data

    def _limit(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        left = self._most_bytes
        for piece in pieces:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                limit = f"holds more than {self._most_bytes} bytes; the rest was not read"
                self.problems.append(("log_cut", limit))
                return


def _split_head(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes of *pieces*, and all of them; a pipe delivers a few at a time."""
    first: list[bytes] = []
    size = 0
    for piece in pieces:
        first.append(piece)
        size += len(piece)
        if size >= HEAD_BYTES:
            break
    return b"".join(first)[:HEAD_BYTES], chain(first, pieces)


def _decode(pieces: Iterator[bytes], encoding: str, mark: int) -> Iterator[bytes]:
    """Yield the text of *pieces* as UTF-8, without its mark of *mark* bytes."""
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    for piece in pieces:
        yield decoder.decode(piece[mark:]).encode("utf-8", "replace")
        mark = max(0, mark - len(piece))
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")
