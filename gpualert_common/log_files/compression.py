"""Compressed logs, by the first bytes of their content: gzip, bzip2, xz and zstandard.

Their libraries are imported only for such a log.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

READ_BYTES = 256 << 10
MOST_MEMORY_BYTES = 256 << 20
"""Memory that an xz or zstandard stream may ask for; `xz -9` and `zstd --long=27` need half."""


class Decompressor(Protocol):
    """A decompressor of one stream, as :mod:`bz2`, :mod:`lzma` and ``compression.zstd`` have it."""

    @property
    def eof(self) -> bool:
        """True behind the end of the stream."""

    @property
    def needs_input(self) -> bool:
        """True when there is no more output without input."""

    @property
    def unused_data(self) -> bytes:
        """Input behind the end of the stream."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return at most *max_length* bytes more."""


class _Gzip:
    """The decompressor of :mod:`zlib` with the interface of the others."""

    def __init__(self) -> None:
        import zlib

        self._stream = zlib.decompressobj(wbits=31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        found = self._stream.decompress(self._stream.unconsumed_tail + data, max_length)
        self.needs_input = len(found) < max_length and not self._stream.unconsumed_tail
        return found


def _open_bzip2() -> Decompressor:
    import bz2

    return bz2.BZ2Decompressor()


def _open_xz() -> Decompressor:
    import lzma

    return lzma.LZMADecompressor(memlimit=MOST_MEMORY_BYTES)


def _open_zstd() -> Decompressor | None:
    """Return a decompressor where Python has one: from 3.14 on, or with the extra ``zstd``."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue
        limit = {module.DecompressionParameter.window_log_max: 27}
        found: Decompressor = module.ZstdDecompressor(options=limit)
        return found
    return None


FORMATS: dict[str, tuple[bytes, Callable[[], Decompressor | None]]] = {
    "gzip": (b"\x1f\x8b\x08", _Gzip),
    "bzip2": (b"BZh", _open_bzip2),
    "xz": (b"\xfd7zXZ\x00", _open_xz),
    "zstandard": (b"\x28\xb5\x2f\xfd", _open_zstd),
}
"""For each format the bytes that it begins with, and its decompressor, None where there is none."""


def find_format(head: bytes) -> str | None:
    """Return the format that *head* begins with, None for no compression."""
    return next((name for name, (magic, _) in FORMATS.items() if head.startswith(magic)), None)


class Decompression:
    """The content of a compressed file, piece by piece; memory does not depend on its size.

    Iterating never raises: ``problem`` then says what is missing.
    """

    def __init__(self, form: str, pieces: Iterator[bytes]) -> None:
        self.problem = ""
        self._form = form
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        stream = FORMATS[self._form][1]()
        if stream is None:
            self.problem = (
                f"is compressed by {self._form}, which this Python cannot read: "
                "pip install 'gpualert-common[zstd]', or pass the decompressed log by - (stdin)"
            )
            return
        try:
            yield from self._decompress(stream)
        except Exception as error:  # noqa: BLE001 - each format has its own kinds, for any damage
            self.problem = f"is damaged, and the rest was not read: {error}"

    def _decompress(self, stream: Decompressor) -> Iterator[bytes]:
        data = next(self._pieces, b"")
        while True:
            found = stream.decompress(data, READ_BYTES)
            data = b""
            if found:
                yield found
            if stream.eof:
                data = self._skip_padding(stream.unused_data)
                following = FORMATS[self._form][1]() if data else None
                if following is None:
                    return
                stream = following
            elif stream.needs_input:
                data = next(self._pieces, b"")
                if not data:
                    self.problem = f"is cut: its {self._form} data has no end"
                    return

    def _skip_padding(self, data: bytes) -> bytes:
        """Return the begin of the next stream of the file; empty behind the last."""
        while not (data := data.lstrip(b"\0")):
            data = next(self._pieces, b"")
            if not data:
                break
        return data
