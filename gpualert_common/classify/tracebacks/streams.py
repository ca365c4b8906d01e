"""The streams of one log, a bounded number of them."""

from __future__ import annotations

from gpualert_common.classify.tracebacks.finished import FinishedTracebacks
from gpualert_common.classify.tracebacks.stream import TracebackStream

MAX_STREAMS = 64
_MAX_IDLE_LINES = 500
"""Lines of other streams after which the unfinished exceptions of a stream are given up."""


class TracebackStreams:
    """The last streams in which there was an exception; :meth:`update` follows every change of one.

    Memory is bounded here: by the number of streams, each of which is bounded itself.
    """

    def __init__(self, file: str, finished: FinishedTracebacks) -> None:
        self._file = file
        self._finished = finished
        self._streams: dict[str, TracebackStream] = {}
        self.unfinished: set[str] = set()
        """Names of the streams with an unfinished traceback or message."""
        self._checked_line = 0

    def get(self, name: str) -> TracebackStream:
        """Return the stream of that name, a new one if it is unknown."""
        stream = self._streams.get(name)
        return stream or TracebackStream(name, self._file, self._finished)

    def get_for_line(self, name: str, line: int) -> TracebackStream:
        """Return the stream to which the line with that number belongs; give up idle ones."""
        if self.unfinished and line - self._checked_line >= _MAX_IDLE_LINES:
            self._abandon_idle(line)
        stream = self.get(name)
        stream.last_line = line
        return stream

    def update(self, stream: TracebackStream) -> None:
        """Keep *stream* if it has changed, and note whether something of it is unfinished."""
        if stream.name not in self._streams:
            if stream.is_blank:
                return
            if len(self._streams) >= MAX_STREAMS:
                self._evict()
            self._streams[stream.name] = stream
        if stream.is_unfinished:
            self.unfinished.add(stream.name)
        else:
            self.unfinished.discard(stream.name)

    def close(self) -> None:
        """Finish or give up what is unfinished: nothing more comes."""
        for stream in self._streams.values():
            stream.close()
        self.unfinished.clear()

    def abandon(self) -> None:
        """Give up what is unfinished; messages count as they are."""
        for stream in self._streams.values():
            stream.abandon()
        self.unfinished.clear()

    def _evict(self) -> None:
        """Give up a stream without an unfinished traceback, or else the oldest."""
        idle = (name for name, one in self._streams.items() if not one.is_in_traceback)
        name = next(idle, next(iter(self._streams)))
        self._streams.pop(name).abandon()
        self.unfinished.discard(name)

    def _abandon_idle(self, line: int) -> None:
        """Give up what no line has continued for long: the process may be gone."""
        self._checked_line = line
        for stream in self._streams.values():
            if stream.last_line + _MAX_IDLE_LINES < line:
                stream.abandon()
                self.unfinished.discard(stream.name)
