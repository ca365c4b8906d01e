"""A traceback between its header and the line that names the exception."""

from __future__ import annotations

from collections import deque

from gpualert_common.classify.line_prefixes import PrefixedLine
from gpualert_common.classify.lines import LinePosition
from gpualert_common.classify.tracebacks import lines
from gpualert_common.classify.tracebacks.exception_names import (
    NamedException,
    find_bare_exception,
    find_exception_after_frames,
    find_raised_type,
)
from gpualert_common.classify.tracebacks.traceback import (
    ChainLink,
    Context,
    Frame,
    Traceback,
    TracebackPart,
)
from gpualert_common.whole_words import cut_words

MAX_FRAMES = 8
"""Innermost frames that are kept."""
MAX_SOURCE_CHARS = 300
MAX_MESSAGE_CHARS = 2_000
_MAX_BODY_LINES = 20_000
_MAX_FOREIGN_LINES = 60
_NO_HEADER = lines.Header()


class UnfinishedTraceback:
    """Reads the lines of one traceback; holds a bounded part of them.

    Its body are frames, quoted source and boxes.  Lines of other processes may stand in between;
    after too many of them, or too long a body, ``is_exhausted`` is True and it is to be dropped.
    """

    def __init__(
        self,
        start: LinePosition,
        context: Context,
        link: ChainLink = ChainLink.NONE,
        header: lines.Header = _NO_HEADER,
    ) -> None:
        self.start = start
        self.context = Context.WORKER if header.is_of_worker else context
        self.link = link
        self._header = header
        self._frames: deque[Frame] = deque(maxlen=MAX_FRAMES)
        self._outermost: Frame | None = None
        self._program_frame: Frame | None = None
        self._source = ""
        self._raised_type = header.type
        self._has_stamped_frames: bool | None = None
        self._is_in_body = False
        self._body_lines = 0
        self._foreign_lines = 0
        self.last: tuple[PrefixedLine, LinePosition] | None = None
        """The last line of the body, without its text."""

    @property
    def is_empty(self) -> bool:
        """True while only the header is known."""
        return not self._frames and not self._is_in_body

    @property
    def is_exhausted(self) -> bool:
        """True when it is too long, or interrupted by too many lines of others, to go on."""
        return self._foreign_lines > _MAX_FOREIGN_LINES or self._body_lines > _MAX_BODY_LINES

    @property
    def type_when_cut_off(self) -> str | None:
        """The type that the last line of source raises; None where the log ends outside a body."""
        if not self._frames or not self._is_in_body or self.last is None:
            return None
        return self._raised_type or "Exception"

    def is_indented(self, text: str) -> bool:
        """True for a *text* that is indented more than the header, as source is."""
        return len(text) - len(text.lstrip()) > self._header.indent

    def begin_body(self, frame: Frame) -> None:
        """Take *frame* as the first line: the header is missing."""
        self._add(frame)
        self._is_in_body = True

    def read(self, line: PrefixedLine, position: LinePosition) -> NamedException | TracebackPart:
        """Take the next line; return the exception that it names, or else what the line is."""
        if self._header.is_rich and lines.is_in_rich_box(line.text):
            return self._read_rich_box(line.text)
        text = lines.remove_group_box(line.text) if self._header.is_grouped else line.text
        body = text.lstrip()
        if not body:
            return TracebackPart.OTHER
        if line.is_stamped and self._has_stamped_frames is False:
            return self._skip()  # a record of a logger, however deep its text is indented
        if not self._read_frame(text, line.is_stamped):
            if self._is_in_body and (sure := find_bare_exception(body)) and sure.is_certain:
                return sure  # indented, yet no line of source looks like it
            if self.is_indented(text):
                self._read_source(body)
            elif named := find_exception_after_frames(body.rstrip(), in_body=self._is_in_body):
                return named
            else:
                return self._skip()
        self.last = PrefixedLine("", line.rank, line.stream), position
        return self._count_body_line()

    def _read_rich_box(self, text: str) -> TracebackPart:
        if frame := lines.parse_rich_frame(text):
            self._add(frame)
        return self._count_body_line()

    def _read_frame(self, text: str, is_stamped: bool) -> bool:
        if frame := lines.parse_frame(text):
            if self._has_stamped_frames is None:
                self._has_stamped_frames = is_stamped
            self._raised_type = None
        else:
            frame = lines.parse_notebook_frame(text)
        if frame is None:
            return False
        self._add(frame)
        return True

    def _read_source(self, source: str) -> None:
        self._raised_type = find_raised_type(source) or self._raised_type
        if source.strip("^~ "):
            self._source = cut_words(source, MAX_SOURCE_CHARS)

    def _skip(self) -> TracebackPart:
        self._foreign_lines += 1
        self._is_in_body = False
        return TracebackPart.OTHER

    def _count_body_line(self) -> TracebackPart:
        self._body_lines += 1
        self._is_in_body = True
        return TracebackPart.SOURCE

    def _add(self, frame: Frame) -> None:
        if self._frames and self._frames[-1] == frame:
            return  # of another rank, in lockstep with this one
        self._frames.append(frame)
        self._outermost = self._outermost or frame
        if self.context is Context.MAIN and lines.is_spawned(frame):
            self.context = Context.PROCESS
        if not lines.is_library(frame):
            self._program_frame = frame

    def finish(
        self, named: NamedException, line: PrefixedLine, end: LinePosition, file: str
    ) -> Traceback:
        """Return the traceback of the exception that *line* names, not yet linked to others."""
        frames, context = tuple(self._frames), self.context
        if context is Context.MAIN and any(map(lines.is_in_queue_thread, frames)):
            context = Context.THREAD
        return Traceback(
            type=named.type[: lines.MAX_NAME_CHARS],
            message=cut_words(named.message, MAX_MESSAGE_CHARS),
            frames=frames,
            file=file,
            start=self.start,
            end=end,
            rank=line.rank,
            stream=line.stream,
            context=context,
            source=self._source,
            outermost=self._outermost,
            place_in_program=self._program_frame or (frames[-1] if frames else None),
        )
