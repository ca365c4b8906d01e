"""Trace files, read in batches of events, so that memory does not depend on their size.

A batch ends between two events.  The decoder proves it: text that is cut within an event, or within
a text of one, is not a JSON array when the array is closed there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, BinaryIO, Self, TypeVar

import msgspec

from gpualert_common.errors import GPUAlertError
from gpualert_common.log_files.compression import READ_BYTES, Decompression, find_format
from gpualert_common.traces.event_text import (
    SPACES,
    find_borders,
    find_ends,
    repair_events,
    replace_bad_bytes,
)
from gpualert_common.traces.trace_head import TraceHead, extend_head

Event = TypeVar("Event")

BATCH_BYTES = 2 << 20
MOST_EVENT_BYTES = 8 << 20
"""Bytes without a border between two events.  The largest real event has some thousands."""
MOST_HEAD_BYTES = 16 << 20
"""Bytes before and after the events: the process groups of a job of 10,000 ranks have a MiB."""
MOST_BYTES = 8 << 30
"""Bytes of one trace, decompressed: some minutes of work.  A small archive may hold any number."""
_MOST_BORDERS = 8
_MOST_ENDS = 64
_EVENTS_KEY = b'"traceEvents"'
_INVALID = (msgspec.DecodeError, UnicodeError, RecursionError)
_RAW_EVENTS = msgspec.json.Decoder(list[msgspec.Raw])
_RAW_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class UnreadableTraceError(GPUAlertError):
    """A trace that cannot be read; the message names the file and the reason."""


class TraceFile:
    """One trace file; iterate its events once, by :meth:`read`.

    ``head`` is complete when all events are read.  ``unreadable`` counts the events whose fields
    have wrong types.
    """

    def __init__(self, path: str) -> None:
        """Open the file and read its head.  Raises UnreadableTraceError."""
        self.head = TraceHead()
        self.unreadable = 0
        self.path = path
        self._file = _open(path)
        self._decompression: Decompression | None = None
        self._pieces = self._read_pieces()
        self._is_over = False
        self._bytes = 0
        self._is_array = False
        self._buffer = b""
        try:
            self._buffer = self._read_head()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, kind: type[Event]) -> Iterator[list[Event]]:
        """Yield the events as objects of *kind*, a Struct.  Raises UnreadableTraceError."""
        decoder = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
        size, is_end = BATCH_BYTES, False
        while not is_end:
            self._fill(size)
            found = self._split(decoder)
            if found is None:
                if self._is_over or size >= MOST_EVENT_BYTES:
                    raise self._describe_damage()
                size *= 4
                continue
            events, rest, is_end = found
            size, self._buffer = BATCH_BYTES, rest
            yield events
        self._read_tail()

    def _read_pieces(self) -> Iterator[bytes]:
        pieces: Iterator[bytes] = iter(lambda: self._file.read(READ_BYTES), b"")
        first = next(pieces, b"")
        form = find_format(first)
        whole = chain((first,), pieces)
        if form is None:
            return whole
        self._decompression = Decompression(form, whole)
        return iter(self._decompression)

    def _fill(self, size: int) -> None:
        """Read until the buffer has *size* bytes, or the file is over."""
        parts, have = [self._buffer], len(self._buffer)
        while have < size and not self._is_over:
            try:
                piece = next(self._pieces, b"")
            except OSError as error:
                raise self._error(f"cannot be read: {error.strerror}") from None
            self._is_over = not piece
            parts.append(piece)
            have += len(piece)
            self._bytes += len(piece)
            if self._bytes > MOST_BYTES:
                raise self._error(f"has more than {MOST_BYTES >> 30} GiB")
        self._buffer = b"".join(parts)
        if self._is_over and self._decompression is not None and self._decompression.problem:
            raise self._error(self._decompression.problem)

    def _read_head(self) -> bytes:
        """Read what stands before the events, and return the rest that was read."""
        size = READ_BYTES
        while True:
            self._fill(size)
            text = self._buffer.lstrip(SPACES)
            if text[:1] == b"[":
                self._is_array = True
                return text[1:]
            at = text.find(_EVENTS_KEY)
            while at >= 0:
                rest = text[at + len(_EVENTS_KEY) :].lstrip(SPACES)
                inner = rest[1:].lstrip(SPACES) if rest[:1] == b":" else b""
                fields = _decode_fields(text[:at] + b'"":0}') if inner[:1] == b"[" else None
                if fields is not None:
                    self.head = extend_head(self.head, fields)
                    return inner[1:]
                at = text.find(_EVENTS_KEY, at + 1)
            if self._is_over or size >= MOST_HEAD_BYTES or text[:1] not in (b"{", b""):
                raise self._error("is no trace of PyTorch's profiler: it has no traceEvents")
            size *= 4

    def _read_tail(self) -> None:
        """Read what stands after the events.

        Kineto writes messages of its own there, and does not escape the quotes in them: such a text
        is passed over, as long as it is not cut.
        """
        self._fill(MOST_HEAD_BYTES)
        if not self._is_over:
            raise self._error(f"has more than {MOST_HEAD_BYTES >> 20} MiB after its events")
        rest = self._buffer.strip(SPACES)
        if self._is_array and not rest:
            return
        fields = _decode_fields(b"{" + rest.removeprefix(b","))
        if fields is not None and not self._is_array:
            self.head = extend_head(self.head, fields)
        elif self._is_array or not (rest.startswith(b",") and rest.endswith(b"}")):
            raise self._describe_damage()

    def _split(self, decoder: Any) -> tuple[list[Any], bytes, bool] | None:
        """Return the events of the buffer, the rest of it, and True for the end of the array."""
        buffer = self._buffer
        for is_repairing in (False, True):
            for border in islice(find_borders(buffer), _MOST_BORDERS):
                events = self._decode(b"[" + buffer[:border] + b"]", decoder, is_repairing)
                if events is not None:
                    return events, buffer[border + 1 :], False
            for end in islice(find_ends(buffer), _MOST_ENDS):
                events = self._decode(b"[" + buffer[:end] + b"]", decoder, is_repairing)
                if events is not None:
                    return events, buffer[end + 1 :], True
        return None

    def _decode(self, text: bytes, decoder: Any, is_repairing: bool) -> list[Any] | None:
        """Return the events of an array, None if it is not valid.

        Events with wrong types are counted and left out.
        """
        try:
            found: list[Any] = decoder.decode(text)
            return found
        except _INVALID:
            pass
        try:
            parts = [bytes(one) for one in _RAW_EVENTS.decode(text)]
        except _INVALID:
            repaired = repair_events(text) if is_repairing else None
            if repaired is None:
                return None
            parts = repaired
        found = []
        for part in parts:
            try:
                found += decoder.decode(b"[" + replace_bad_bytes(part) + b"]")
            except _INVALID:
                self.unreadable += 1
        return found

    def _describe_damage(self) -> UnreadableTraceError:
        at = self._bytes - len(self._buffer)
        if self._is_over:
            return self._error(f"is cut or damaged: no complete event behind byte {at}")
        return self._error(f"is damaged: no complete event behind byte {at}")

    def _error(self, problem: str) -> UnreadableTraceError:
        return UnreadableTraceError(f"{self.path} {problem}")


def _open(path: str) -> BinaryIO:
    """Return the open file; a pipe is not waited for.  Raises UnreadableTraceError."""
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb")
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise UnreadableTraceError(f"{path} cannot be read: {problem}") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise UnreadableTraceError(f"{path} is not a regular file")
    return file


def _decode_fields(text: bytes) -> dict[str, msgspec.Raw] | None:
    """Return the fields of an object, None if it is not valid."""
    try:
        return _RAW_FIELDS.decode(text)
    except _INVALID:
        return None


def read_head(path: str) -> TraceHead:
    """Return what stands before the events of a trace; nothing for one that cannot be read."""
    try:
        with TraceFile(path) as trace:
            return trace.head
    except UnreadableTraceError:
        return TraceHead()
