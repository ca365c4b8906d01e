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
from gpualert_common.structs import Struct
from gpualert_common.traces.event_text import (
    SPACES,
    find_borders,
    find_ends,
    repair_events,
    replace_bad_bytes,
)

Event = TypeVar("Event")
Value = TypeVar("Value")

BATCH_BYTES = 2 << 20
MOST_EVENT_BYTES = 8 << 20
"""Bytes without a border between two events.  The largest real event has some thousands."""
MOST_HEAD_BYTES = 16 << 20
"""Bytes before and after the events: the process groups of a job of 10,000 ranks have a MiB."""
MOST_BYTES = 8 << 30
"""Bytes of one trace, decompressed: some minutes of work.  A small archive may hold any number."""
MOST_RANKS = 1 << 17
_MOST_BORDERS = 8
_MOST_ENDS = 64
_EVENTS_KEY = b'"traceEvents"'
_INVALID = (msgspec.DecodeError, UnicodeError, RecursionError)
_RAW_EVENTS = msgspec.json.Decoder(list[msgspec.Raw])
_RAW_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_MOST_BASE_NS = 253_402_300_800 * 10**9


class UnreadableTraceError(GPUAlertError):
    """A trace that cannot be read; the message names the file and the reason."""


class TraceHead(Struct, frozen=True):
    """Facts about a trace that its file has beside the events.

    ``base_ns`` is the time since the epoch from which the events count; 0 where they count from the
    epoch itself, as in traces before PyTorch 2.4.  ``rank`` is -1 where the process was in no
    group, ``group_size`` where its groups are not known or have different sizes.
    """

    base_ns: int = 0
    host: str = ""
    rank: int = -1
    group_size: int = -1
    is_merged: bool = False


class _ProcessGroup(Struct, frozen=True):
    """One group of ranks."""

    pg_size: int = -1


class _ProcessGroups(Struct, frozen=True):
    """All groups in which the process is; old versions of PyTorch do not write them."""

    pg_config: tuple[_ProcessGroup, ...] = ()


class _DistributedInfo(Struct, frozen=True):
    """The place of the process among all ranks."""

    rank: int = -1


class TraceFile:
    """One trace file; iterate its events once, by :meth:`read`.

    ``head`` is complete when all events are read.  ``unreadable`` counts the events whose fields
    have wrong types.
    """

    def __init__(self, path: str) -> None:
        """Open the file and read its head.  Raises UnreadableTraceError."""
        self.head = TraceHead()
        self.unreadable = 0
        self._path = path
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
                    self._add_fields(fields)
                    return inner[1:]
                at = text.find(_EVENTS_KEY, at + 1)
            if self._is_over or size >= MOST_HEAD_BYTES or text[:1] not in (b"{", b""):
                raise self._error("is no trace of PyTorch's profiler: it has no traceEvents")
            size *= 4

    def _read_tail(self) -> None:
        """Read what stands after the events."""
        self._fill(MOST_HEAD_BYTES)
        if not self._is_over:
            raise self._error(f"has more than {MOST_HEAD_BYTES >> 20} MiB after its events")
        rest = self._buffer.strip(SPACES)
        if self._is_array and not rest:
            return
        fields = _decode_fields(b"{" + rest.removeprefix(b","))
        if self._is_array or fields is None:
            raise self._describe_damage()
        self._add_fields(fields)

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

    def _add_fields(self, fields: dict[str, msgspec.Raw]) -> None:
        group = _take(fields, "distributedInfo", _DistributedInfo) or _DistributedInfo()
        groups = _take(fields, "distributedInfo", _ProcessGroups) or _ProcessGroups()
        sizes = {one.pg_size for one in groups.pg_config}
        base = _take(fields, "baseTimeNanoseconds", int) or 0
        head = self.head
        self.head = TraceHead(
            base_ns=base if 0 < base < _MOST_BASE_NS else head.base_ns,
            host=(_take(fields, "host_name", str) or head.host)[:256],
            rank=group.rank if 0 <= group.rank < MOST_RANKS else head.rank,
            group_size=sizes.pop() if len(sizes) == 1 else head.group_size,
            is_merged=head.is_merged or "mergedRanks" in fields,
        )

    def _describe_damage(self) -> UnreadableTraceError:
        at = self._bytes - len(self._buffer)
        if self._is_over:
            return self._error(f"is cut or damaged: no complete event behind byte {at}")
        return self._error(f"is damaged: no complete event behind byte {at}")

    def _error(self, problem: str) -> UnreadableTraceError:
        return UnreadableTraceError(f"{self._path} {problem}")


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


def _take(fields: dict[str, msgspec.Raw], key: str, kind: type[Value]) -> Value | None:
    """Return the field if it is there and of that kind."""
    try:
        return msgspec.json.decode(fields[key], type=kind)
    except (KeyError, *_INVALID):
        return None


def read_head(path: str) -> TraceHead:
    """Return what stands before the events of a trace; nothing for one that cannot be read."""
    try:
        with TraceFile(path) as trace:
            return trace.head
    except UnreadableTraceError:
        return TraceHead()
