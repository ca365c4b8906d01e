"""Merging of the traces of all ranks into one, on one time axis."""

from __future__ import annotations

import contextlib
import os
import secrets
import zlib
from collections.abc import Sequence
from typing import BinaryIO, NamedTuple

import msgspec
from msgspec import UNSET

from gpualert_common.structs import Struct
from gpualert_common.traces.analysis import UnreadRank
from gpualert_common.traces.rank_tracks import MovedEvent, RankTracks
from gpualert_common.traces.trace_file import TraceFile, UnreadableTraceError
from gpualert_common.traces.trace_source import TraceSource

MOST_SKEW_S = 600
"""Distance from the others at which the clock of a rank, or its file, is wrong: ranks that are
traced at one moment start within seconds of each other."""

_COMPRESSION_LEVEL = 3
_LEAD_S = 60
"""Time of the axis before the first known event, so that no time is negative."""
_LEAST_EPOCH_US = 1e15
"""Times since the epoch, in microseconds, are larger from 2001 on."""
_LAST_EVENT = b'{"ph":"M","name":"merged","pid":0,"tid":0,"ts":0}'
"""Event behind the last comma, since JSON allows no comma before the end of an array."""


class MergedTrace(Struct, frozen=True):
    """A merged trace: its file, the ranks in it, and those that are left out.

    ``unreadable`` counts the events that are left out since their fields have wrong types.
    """

    path: str
    ranks: tuple[str, ...]
    left_out: tuple[UnreadRank, ...] = ()
    events: int = 0
    unreadable: int = 0


class _TraceTime(Struct, frozen=True):
    """The time since the epoch from which the events of a trace count, and that of the first."""

    base_ns: int
    start_ns: int


def merge_traces(sources: Sequence[TraceSource], output: str) -> MergedTrace:
    """Merge traces into one file, compressed by gzip.

    A trace that is damaged, cut, or of another time is left out whole.  Memory does not depend on
    the sizes.  Raises UnreadableTraceError if no trace is readable, OSError if the file cannot be
    written; then there is no file.
    """
    left_out: list[UnreadRank] = []
    times = _find_times(sources, left_out)
    part = os.path.join(os.path.dirname(output), f".gpualert-{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb", opener=_open_private) as file:
            merged = _write_merged(file, sources, times, left_out)
        if not merged.ranks:
            reasons = "; ".join(one.problem for one in left_out) or "no file was given"
            raise UnreadableTraceError(f"there is no trace to merge: {reasons}")
        os.replace(part, output)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    return msgspec.structs.replace(merged, path=output, left_out=tuple(left_out))


def _write_merged(
    file: BinaryIO,
    sources: Sequence[TraceSource],
    times: dict[int, _TraceTime],
    left_out: list[UnreadRank],
) -> MergedTrace:
    writer = _TraceWriter(file)
    earliest_ns = min((one.start_ns for one in times.values()), default=0)
    base_ns = (earliest_ns // 10**9 - _LEAD_S) * 10**9
    writer.write(_format_head(base_ns))
    taken: set[int] = set()
    merged, events, unreadable = [], 0, 0
    for index, time in times.items():
        source = sources[index]
        tracks = RankTracks(source.rank.replace(":", " "), source.pid, index, taken)
        mark = writer.mark()
        try:
            written, lost = _add_trace(writer, source, tracks, (time.base_ns - base_ns) / 1000)
        except UnreadableTraceError as error:
            writer.go_back(mark)
            left_out.append(UnreadRank(source.rank, source.path, str(error)))
            continue
        merged.append(source.rank)
        events, unreadable = events + written, unreadable + lost
    writer.write(_LAST_EVENT + b'],"mergedRanks":' + msgspec.json.encode(merged) + b"}")
    writer.finish()
    return MergedTrace("", tuple(merged), events=events, unreadable=unreadable)


class _Mark(NamedTuple):
    """A place of a compressed stream."""

    position: int
    compressor: zlib._Compress


class _TraceWriter:
    """One stream of gzip that can go back to a mark."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._compressor = zlib.compressobj(_COMPRESSION_LEVEL, wbits=31)

    def write(self, data: bytes) -> None:
        self._file.write(self._compressor.compress(data))

    def finish(self) -> None:
        self._file.write(self._compressor.flush())

    def mark(self) -> _Mark:
        return _Mark(self._file.tell(), self._compressor.copy())

    def go_back(self, mark: _Mark) -> None:
        self._file.seek(mark.position)
        self._file.truncate()
        self._compressor = mark.compressor


def _add_trace(
    writer: _TraceWriter, source: TraceSource, tracks: RankTracks, shift_us: float
) -> tuple[int, int]:
    """Write the events of a trace; return their number, and that of the unreadable ones."""
    written = 0
    with TraceFile(source.path) as trace:
        for batch in trace.read(MovedEvent):
            moved = [one for one in batch if tracks.move(one, shift_us)]
            written += len(moved)
            writer.write(_encode_events(moved))
    _refuse_merged(trace)
    writer.write(_encode_events(list(tracks.describe())))
    return written, trace.unreadable + tracks.unreadable


def _encode_events(events: Sequence[object]) -> bytes:
    """Return events as JSON, each with a comma behind it."""
    if not events:
        return b""
    text = msgspec.json.encode(events)[1:-1] + b",\n"
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace").encode()
    return text


def _format_head(base_ns: int) -> bytes:
    head = {"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": base_ns}
    return msgspec.json.encode(head)[:-1] + b',"traceEvents":[\n'


def _find_times(
    sources: Sequence[TraceSource], left_out: list[UnreadRank]
) -> dict[int, _TraceTime]:
    """Return the times of the readable traces by their index in *sources*."""
    times = {}
    for index, source in enumerate(sources):
        try:
            times[index] = _find_time(source.path)
        except UnreadableTraceError as error:
            left_out.append(UnreadRank(source.rank, source.path, str(error)))
    starts = sorted(one.start_ns for one in times.values())
    for index, time in list(times.items()):
        skew_s = abs(time.start_ns - starts[(len(starts) - 1) // 2]) / 1e9
        if skew_s > MOST_SKEW_S:
            source = sources[index]
            problem = f"{source.path} is {skew_s:.0f} s apart from the other ranks"
            left_out.append(UnreadRank(source.rank, source.path, problem))
            del times[index]
    return times


def _find_time(path: str) -> _TraceTime:
    """Return the times of a trace; a base that stands behind the events costs reading them all."""
    with TraceFile(path) as trace:
        start_us = None
        for batch in trace.read(MovedEvent):
            if start_us is None:
                known = [one.ts for one in batch if one.ph == "X" and one.ts is not UNSET]
                start_us = min(known, default=None)
            if start_us is not None and (trace.head.base_ns or start_us > _LEAST_EPOCH_US):
                break
    _refuse_merged(trace)
    if start_us is None:
        raise UnreadableTraceError(f"{path} has no events")
    base_ns = trace.head.base_ns
    return _TraceTime(base_ns, base_ns + round(max(-1e17, min(start_us, 1e17)) * 1000))


def _refuse_merged(trace: TraceFile) -> None:
    """Raise UnreadableTraceError for a merged trace, which says so behind its events."""
    if trace.head.is_merged:
        raise UnreadableTraceError(
            f"{trace.path} has several ranks: merge their own traces, not the merged one"
        )


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
