"""The exceptions in the lines of one stream: a rank, a worker, or all lines without a prefix."""

from __future__ import annotations

from gpualert_common.classify.line_prefixes import PrefixedLine
from gpualert_common.classify.lines import LinePosition
from gpualert_common.classify.tracebacks.exception_message import ExceptionMessage
from gpualert_common.classify.tracebacks.exception_names import (
    NamedException,
    find_bare_exception,
    find_failed_check,
    find_thrown_message,
    find_thrown_type,
    is_report,
)
from gpualert_common.classify.tracebacks.finished import FinishedTracebacks
from gpualert_common.classify.tracebacks.lines import (
    Header,
    find_announcement,
    parse_frame,
    parse_frame_without_header,
    parse_header,
)
from gpualert_common.classify.tracebacks.traceback import (
    ChainLink,
    Context,
    Traceback,
    TracebackPart,
)
from gpualert_common.classify.tracebacks.unfinished import UnfinishedTraceback

_MAX_UNFINISHED = 4


class TracebackStream:
    """State machine over the lines of one stream.  The state follows from what is unfinished:

    * in a traceback: the innermost of at most four unfinished tracebacks reads each line;
    * in a message: a line begins something new, or else may belong to the last exception's message;
    * between: a line announces, begins or names an exception, or is none of our business.

    A header begins a traceback in every state.  Finished exceptions go to *finished*.
    """

    def __init__(self, name: str, file: str, finished: FinishedTracebacks) -> None:
        self.name = name
        self.last_line = 0
        self._file = file
        self._finished = finished
        self._unfinished: list[UnfinishedTraceback] = []
        self._message: ExceptionMessage | None = None
        self._context = Context.MAIN
        self._link = ChainLink.NONE
        self._thrown_type: str | None = None
        self._last: Traceback | None = None

    @property
    def is_in_traceback(self) -> bool:
        """True while a traceback is unfinished."""
        return bool(self._unfinished)

    @property
    def is_unfinished(self) -> bool:
        """True while a traceback or a message is unfinished."""
        return bool(self._unfinished) or self._message is not None

    @property
    def is_blank(self) -> bool:
        """True when no line has changed its state."""
        return (
            not self.is_unfinished
            and self._last is None
            and (self._context, self._link) == (Context.MAIN, ChainLink.NONE)
            and self._thrown_type is None
        )

    def read(self, line: PrefixedLine, position: LinePosition, *, is_benign: bool) -> TracebackPart:
        """Take the next line of the stream; a benign one is left out of messages."""
        header = None if self._finished.is_full else parse_header(line.text)
        if header is not None:
            self._begin(header, position)
            return TracebackPart.OTHER
        if self._unfinished:
            return self.read_in_traceback(line, position)
        part = None if self._finished.is_full else self._read_beginning(line, position)
        return part or self._read_in_message(line, is_benign)

    def _begin(self, header: Header, position: LinePosition) -> None:
        self.end_message()
        if self._finished.is_full:
            return
        if self._unfinished and self._unfinished[-1].is_empty:
            return  # of another rank, in lockstep with this one
        self._push(UnfinishedTraceback(position, self._context, self._link, header))

    def _push(self, traceback: UnfinishedTraceback) -> None:
        self._unfinished.append(traceback)
        del self._unfinished[:-_MAX_UNFINISHED]
        self.last_line = traceback.start.line
        self._context, self._link = Context.MAIN, ChainLink.NONE

    def read_in_traceback(self, line: PrefixedLine, position: LinePosition) -> TracebackPart:
        """Take a line as one of the innermost unfinished traceback."""
        traceback = self._unfinished[-1]
        found = traceback.read(line, position)
        if isinstance(found, NamedException):
            self._finish(self._unfinished.pop(), found, line, position)
            return TracebackPart.EXCEPTION
        if traceback.is_exhausted:
            self._unfinished.pop()
        return found

    def _read_beginning(self, line: PrefixedLine, position: LinePosition) -> TracebackPart | None:
        if self._read_announcement(line.text):
            return TracebackPart.OTHER
        if self._read_frame_without_header(line.text, position):
            return TracebackPart.SOURCE
        if self._read_exception_without_frames(line, position):
            return TracebackPart.EXCEPTION
        return None

    def _read_in_message(self, line: PrefixedLine, is_benign: bool) -> TracebackPart:
        if self._message is None:
            return TracebackPart.OTHER
        if self._message.read(line, is_benign=is_benign):
            return TracebackPart.MESSAGE
        self.end_message()
        return TracebackPart.OTHER

    def _read_announcement(self, text: str) -> bool:
        announced = find_announcement(text)
        if isinstance(announced, ChainLink):
            self._link = announced
        elif announced is not None:
            self._context = announced
        elif (thrown := find_thrown_type(text)) is not None:
            self._thrown_type = thrown
        else:
            return False
        self.end_message()
        return True

    def _read_frame_without_header(self, text: str, position: LinePosition) -> bool:
        """Take a frame that no header announced: of a syntax error, of ray, of a log's cut head."""
        if self._message is not None and self._message.quotes_frames:
            return parse_frame(text) is not None
        frame = parse_frame_without_header(text)
        if frame is None:
            return False
        self.end_message()
        indent = max(0, len(text) - len(text.lstrip()) - 2)
        traceback = UnfinishedTraceback(position, self._context, self._link, Header(indent))
        traceback.begin_body(frame)
        self._push(traceback)
        return True

    def _read_exception_without_frames(self, line: PrefixedLine, position: LinePosition) -> bool:
        if named := self._find_native_exception(line.text):
            self._finish(UnfinishedTraceback(position, Context.NATIVE), named, line, position)
            return True
        named = find_bare_exception(line.text)
        if named is None:
            return False
        message = self._message
        if message is not None and message.begins_with(line.text):
            return True  # of another rank, in lockstep with this one
        is_inner = message is not None and message.may_name_inner_exception
        link = ChainLink.INNER if is_inner else ChainLink.NONE
        self._finish(UnfinishedTraceback(position, Context.BARE, link), named, line, position)
        return True

    def _find_native_exception(self, text: str) -> NamedException | None:
        if self._thrown_type is not None and (message := find_thrown_message(text)) is not None:
            named = NamedException(self._thrown_type, message)
            self._thrown_type = None
            return named
        return find_failed_check(text)

    def _finish(
        self,
        traceback: UnfinishedTraceback,
        named: NamedException,
        line: PrefixedLine,
        position: LinePosition,
    ) -> None:
        self.end_message()
        found = traceback.finish(named, line, position, self._file)
        if self._last is not None and traceback.link is not ChainLink.NONE:
            self._finished.remove(self._last)
            found = found.linked_to(self._last, traceback.link)
        elif self._last is not None and traceback.context is Context.WORKER:
            # The wrapper in the parent stands before the worker's own traceback and adds nothing.
            self._finished.remove(self._last)
        self._message = ExceptionMessage(found, named, line)
        self.last_line = position.line
        if is_report(named.type):
            self.end_message()

    def end_message(self) -> None:
        """End the message of the last exception, if it is unfinished."""
        message, self._message = self._message, None
        if message is not None:
            self._last = self._finished.add(message.traceback, message.text)

    def is_indented(self, text: str) -> bool:
        """True for *text* that is indented like the source of the innermost traceback."""
        return self._unfinished[-1].is_indented(text)

    def drop_innermost(self) -> None:
        """Give up the innermost unfinished traceback."""
        self._unfinished.pop()

    def abandon(self) -> None:
        """Give up what is unfinished; a message counts as it is."""
        self.end_message()
        self._unfinished.clear()

    def close(self) -> None:
        """Finish what the end of the log cuts off, with the type that the last source raises."""
        self.end_message()
        while self._unfinished and not self._finished.is_full:
            traceback = self._unfinished.pop()
            type_name = traceback.type_when_cut_off
            if type_name is not None and traceback.last is not None:
                traceback.context = Context.CUT_OFF
                self._finish(traceback, NamedException(type_name, ""), *traceback.last)
        self.end_message()
