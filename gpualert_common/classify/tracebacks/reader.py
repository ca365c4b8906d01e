"""Exceptions, read line by line from a log as it grows.

The parser keeps the unfinished tracebacks of each stream (a rank, a worker) apart, so that ranks
that write at the same time do not disturb one another, and it keeps a bounded number of finished
ones.  It needs all lines from a header to the end of the exception's message; in between it needs
only those that :data:`~gpualert_common.classify.tracebacks.lines.MARKERS` selects.
"""

from __future__ import annotations

from gpualert_common.classify.line_prefixes import PrefixedLine
from gpualert_common.classify.lines import LinePosition
from gpualert_common.classify.tracebacks.exception_names import find_exception_after_frames
from gpualert_common.classify.tracebacks.finished import FinishedTracebacks, Recognize
from gpualert_common.classify.tracebacks.lines import (
    is_progress_bar,
    parse_header,
    split_quoted_traceback,
)
from gpualert_common.classify.tracebacks.streams import TracebackStreams
from gpualert_common.classify.tracebacks.traceback import Traceback, TracebackPart


class TracebackParser:
    """Feed lines in order, :meth:`close` after the last; then read :attr:`found`."""

    def __init__(self, file: str, recognize: Recognize, limit: int) -> None:
        self._finished = FinishedTracebacks(recognize, limit)
        self._streams = TracebackStreams(file, self._finished)

    @property
    def is_open(self) -> bool:
        """True while a traceback or a message is unfinished: then every line must be fed."""
        return bool(self._streams.unfinished)

    @property
    def is_full(self) -> bool:
        """True once *limit* exceptions were found, or the lines of as many were read.

        No further traceback is begun then.
        """
        return self._finished.is_full

    @property
    def count(self) -> int:
        """Number of exceptions found that are heads of their chains."""
        return self._finished.count

    @property
    def found(self) -> tuple[Traceback, ...]:
        """The first and the last finished exceptions, heads of their chains, in order."""
        return self._finished.in_order

    def close(self) -> None:
        """Finish what is unfinished: nothing more comes."""
        self._streams.close()

    def feed(
        self, line: PrefixedLine, position: LinePosition, *, is_benign: bool = False
    ) -> TracebackPart:
        """Take *line*; a benign one is left out of messages."""
        self._finished.count_line()
        if self.is_open and self._finished.has_read_all:
            self._streams.abandon()
        quoted = split_quoted_traceback(line.text)
        if quoted:
            return self._read_quoted(line, position, quoted)
        return self._read(line, position, is_benign)

    def _read(
        self, line: PrefixedLine, position: LinePosition, is_benign: bool = False
    ) -> TracebackPart:
        stream = self._streams.get_for_line(line.stream, position.line)
        if self.is_open and is_progress_bar(line.text) and parse_header(line.text) is None:
            return TracebackPart.OTHER
        part = stream.read(line, position, is_benign=is_benign)
        self._streams.update(stream)
        return part

    def _read_quoted(
        self, line: PrefixedLine, position: LinePosition, quoted: list[str]
    ) -> TracebackPart:
        """Take a whole traceback in one line.

        It may be the message of the one before it (raised by an old loader), a record between its
        lines (written by a logger in JSON), or a line of source that only looks like one.
        """
        stream = self._streams.get_for_line(line.stream, position.line)
        if stream.is_in_traceback and not self.is_full:
            if stream.is_indented(line.text):
                part = stream.read_in_traceback(line, position)
                self._streams.update(stream)
                return part
            before = line.text.partition("Traceback")[0].strip(" '\"")
            if find_exception_after_frames(before, in_body=True):
                stream.drop_innermost()
                self._streams.update(stream)
            else:
                line = line._replace(stream=f"{line.stream} (quoted)")
        for text in quoted:
            self._read(line._replace(text=text), position)
        stream = self._streams.get(line.stream)
        stream.end_message()
        self._streams.update(stream)
        return TracebackPart.EXCEPTION
