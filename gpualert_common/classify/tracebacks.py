"""Exceptions, read line by line from a log as it grows.

The parser keeps one stack of unfinished tracebacks per stream (a rank, a worker), so that ranks
that write at the same time do not disturb one another, and it keeps a bounded number of finished
ones.  It needs the lines from a header to the end of the exception's message; in between it needs
only those that :mod:`gpualert_common.classify.exceptions` names.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from gpualert_common.classify.exceptions import (
    FRAME,
    HEADER,
    INSTALLED,
    IPYTHON_FRAME,
    RICH_FRAME,
    SPAWNED,
    Named,
    check_failed,
    is_bar,
    is_report,
    named_after_frames,
    named_alone,
    quoted_lines,
    raised_by,
    thrown,
    type_before,
    what,
)
from gpualert_common.classify.lines import Place
from gpualert_common.classify.observations import Observation
from gpualert_common.classify.prefixes import Line
from gpualert_common.classify.raised import Context, Frame, Link, Part, Traceback

_GROUP_BOX = re.compile(r"^\s*[|+] ?")
_RICH_BOX = re.compile(r"^\s*[│┃╭╰┏┗|+]")
_RICH_TRIM = " │┃|\t"

_LAST_FRAMES = 8
_OPEN_STREAMS = 64
_OPEN_PER_STREAM = 4
_BODY_LINES = 20_000
_FOREIGN_LINES = 60
_CHAIN = 8
_FIRST_KEPT = 16
_LAST_KEPT = 48
_MESSAGE_CHARS = 2_000
_SOURCE_CHARS = 300
_NAME_CHARS = 300
_IDLE_LINES = 500
"""Lines of others after which an unfinished traceback of a stream is given up."""
_MESSAGE_LINES = 10
"""Lines behind the one that names an exception that are read as its message."""
_INNER_LINES = 3
"""Lines behind a wrapper's own within which it names the exception that it wraps."""
MANY = 1_000
"""Tracebacks after which only the end of the log is still searched for more."""


@dataclass(slots=True)
class _Open:
    start: Place
    indent: int
    context: Context
    link: Link
    grouped: bool = False
    rich: bool = False
    frames: deque[Frame] = field(default_factory=lambda: deque(maxlen=_LAST_FRAMES))
    own: Frame | None = None
    in_body: bool = False
    body: int = 0
    foreign: int = 0
    stamped: bool | None = None
    raises: str | None = None
    source: str = ""
    last_line: tuple[Line, Place] | None = None

    def add(self, frame: Frame) -> None:
        frame = Frame(frame.file[-_NAME_CHARS:], frame.line, frame.function[:_NAME_CHARS])
        if self.frames and self.frames[-1] == frame:
            return  # another rank's, in lockstep with this one
        self.frames.append(frame)
        if self.context is Context.MAIN and SPAWNED.search(frame.file):
            self.context = Context.PROCESS
        if not INSTALLED.search(frame.file):
            self.own = frame


@dataclass(slots=True)
class _Message:
    """An exception whose message may go on: the lines so far, the first with its type."""

    found: Traceback
    stamped: bool
    lines: list[str]
    chars: int
    seen: int = 1

    @property
    def quotes_frames(self) -> bool:
        return self.lines[-1].endswith("(most recent call last):")


@dataclass(slots=True)
class _Stream:
    open: list[_Open] = field(default_factory=list)
    context: Context = Context.MAIN
    link: Link = Link.NONE
    thrown: str | None = None
    last_line: int = 0
    message: _Message | None = None
    last: Traceback | None = None


Recognise = Callable[[str, Traceback], tuple[Observation, ...]]
"""What the patterns see in the whole text of an exception."""


class TracebackParser:
    """Feed lines in order, :meth:`close` after the last; then read :attr:`found`.

    ``count`` is how many heads of chains were found; once it was *limit*, ``many`` is True
    and no further traceback is begun.
    """

    def __init__(self, file: str, recognise: Recognise, limit: int = MANY) -> None:
        self._file = file
        self._recognise = recognise
        self._limit = limit
        self._streams: dict[str, _Stream] = {}
        self._first: list[Traceback] = []
        self._last: deque[Traceback] = deque(maxlen=_LAST_KEPT)
        self._busy = 0
        self._finished = 0
        self._swept = 0
        self.count = 0
        self.many = False

    @property
    def open(self) -> bool:
        """True while a traceback or a message is unfinished: then every line must be fed."""
        return self._busy > 0

    @property
    def found(self) -> tuple[Traceback, ...]:
        """The first and the last finished exceptions, heads of their chains, in order."""
        kept = (*self._first, *self._last)
        return tuple(sorted(kept, key=lambda one: one.end.offset))

    def close(self) -> None:
        """End what is unfinished: nothing more comes."""
        for stream in self._streams.values():
            self._end_message(stream)
            while stream.open and not self.many:
                self._cut_off(stream)
            self._end_message(stream)

    def _cut_off(self, stream: _Stream) -> None:
        """Finish a traceback that the log's end cut off, with the type that its source raises."""
        state = stream.open.pop()
        self._busy -= 1
        if not state.frames or not state.in_body or state.last_line is None:
            return
        line, place = state.last_line
        named = Named(state.raises or "Exception", "")
        state.context = Context.CUT_OFF
        self._finish(stream, Line("", line.rank, line.stream), place, named, state)

    def feed(self, line: Line, place: Place, *, benign: bool = False) -> Part:
        """Take *line*; a *benign* one is left out of messages."""
        quoted = quoted_lines(line.text)
        return self._take_quoted(line, place, quoted) if quoted else self._feed(line, place, benign)

    def _feed(self, line: Line, place: Place, benign: bool) -> Part:
        stream = self._touched(line, place)
        if self._busy and is_bar(line.text) and HEADER.match(line.text) is None:
            return Part.OTHER
        header = HEADER.match(line.text)
        if header and not self.many:
            if stream is not None:
                self._end_message(stream)
            if not self.many:
                self._begin(line.stream, header["before"], place)
            return Part.OTHER
        if stream is not None and stream.open:
            return self._take(stream, line, place)
        if not self.many:
            if self._note(line):
                return Part.OTHER
            if self._begin_without_header(line, place):
                return Part.SOURCE
            if self._alone(line, place):
                return Part.EXCEPTION
        if stream is not None and stream.message is not None:
            return self._continue(stream, line, benign)
        return Part.OTHER

    def _take_quoted(self, line: Line, place: Place, quoted: list[str]) -> Part:
        """A whole traceback in one line.

        It may be the message of the one before it (what an old loader raises), a record between
        its lines (what a logger writes in JSON), or a line of source that only looks like one.
        """
        stream = self._touched(line, place)
        if stream is not None and stream.open and not self.many:
            state = stream.open[-1]
            if len(line.text) - len(line.text.lstrip()) > state.indent:
                return self._take(stream, line, place)
            if named_after_frames(line.text.partition("Traceback")[0].strip(" '\""), True):
                stream.open.pop()
                self._busy -= 1
            else:
                line = line._replace(stream=f"{line.stream} (quoted)")
        for piece in quoted:
            self._feed(line._replace(text=piece), place, benign=False)
        if stream := self._streams.get(line.stream):
            self._end_message(stream)
        return Part.EXCEPTION

    def _note(self, line: Line) -> bool:
        """Remember what a line between tracebacks says of the next one."""
        text = line.text
        if "During handling of the above exception" in text:
            self._stream(line.stream).link = Link.CONTEXT
        elif "The above exception was the direct cause" in text:
            self._stream(line.stream).link = Link.CAUSE
        elif text.startswith("Exception in thread "):
            self._stream(line.stream).context = Context.THREAD
        elif text.startswith(("Exception ignored in", "--- Logging error ---", "Call stack:")):
            self._stream(line.stream).context = Context.IGNORED
        elif "terminated with the following error" in text:
            self._stream(line.stream).context = Context.WORKER
        elif text.startswith("Process ") and text.endswith(":"):
            self._stream(line.stream).context = Context.PROCESS
        elif (native := thrown(text)) is not None:
            self._stream(line.stream).thrown = native
        else:
            return False
        self._end_message(self._stream(line.stream))
        return True

    def _stream(self, name: str) -> _Stream:
        if name not in self._streams and len(self._streams) >= _OPEN_STREAMS:
            idle = next((key for key, value in self._streams.items() if not value.open), None)
            victim = self._streams.pop(idle if idle is not None else next(iter(self._streams)))
            self._end_message(victim)
            self._busy -= len(victim.open)
        return self._streams.setdefault(name, _Stream())

    def _begin(self, name: str, before: str, place: Place) -> None:
        stream = self._stream(name)
        if stream.open and not stream.open[-1].frames and not stream.open[-1].in_body:
            return  # another rank's, in lockstep with this one
        rich = bool(re.match(r"^\s*[╭+┏][─━-]", before))
        grouped = not rich and bool(_GROUP_BOX.match(before))
        context = Context.WORKER if before.strip() == "Original" else stream.context
        indent = 0 if before.strip() or grouped else len(before)
        opened = _Open(place, indent, context, stream.link, grouped, rich)
        opened.raises = type_before(before)
        self._push(stream, opened)

    def _push(self, stream: _Stream, opened: _Open) -> None:
        stream.open.append(opened)
        stream.last_line = opened.start.line
        self._busy += 1
        stream.context, stream.link = Context.MAIN, Link.NONE
        if len(stream.open) > _OPEN_PER_STREAM:
            stream.open.pop(0)
            self._busy -= 1

    def _begin_without_header(self, line: Line, place: Place) -> bool:
        """A frame that no header announced: of a syntax error, of ray, of a log's cut head."""
        frame = FRAME.match(line.text)
        pending = self._streams.get(line.stream)
        if pending is not None and pending.message is not None and pending.message.quotes_frames:
            return (
                frame is not None
            )  # TensorFlow tells where a node was defined, then what is wrong
        if frame is None or line.text[frame.end() :].startswith(" in "):
            return False
        stream = self._stream(line.stream)
        self._end_message(stream)
        indent = max(0, len(line.text) - len(line.text.lstrip()) - 2)
        opened = _Open(place, indent, stream.context, stream.link, in_body=True)
        opened.add(Frame(frame["file"], int(frame["line"]), frame["function"] or ""))
        self._push(stream, opened)
        return True

    def _take(self, stream: _Stream, line: Line, place: Place) -> Part:
        state = stream.open[-1]
        if state.rich and _RICH_BOX.match(line.text):
            frame = RICH_FRAME.match(line.text.strip(_RICH_TRIM))
            if frame:
                state.add(Frame(frame["file"], int(frame["line"]), frame["function"]))
            state.in_body = True
            return self._count_body(stream, state)
        text = _GROUP_BOX.sub("", line.text) if state.grouped else line.text
        body = text.lstrip()
        if not body:
            return Part.OTHER
        if line.stamped and state.stamped is False:
            return self._foreign(stream, state)  # a logger's record, however it is indented
        if frame := FRAME.match(text):
            state.stamped = line.stamped if state.stamped is None else state.stamped
            state.add(Frame(frame[1], int(frame[2]), frame[3] or ""))
            state.in_body = True
            state.raises = None
        elif frame := IPYTHON_FRAME.match(text):
            function = frame["function"].rpartition(".")[2]  # IPython has the class, too
            state.add(Frame(frame["file"], int(frame["line"] or 0), function))
            state.in_body = True
        elif (bare := named_alone(body)) and state.in_body and bare.is_sure:
            return self._end(stream, line, place, bare)  # indented, yet no source says that
        elif len(text) - len(body) > state.indent:
            state.in_body = True
            state.raises = raised_by(body) or state.raises
            state.source = body if body.strip("^~ ") else state.source
        elif (named := named_after_frames(text.strip(), state.in_body)) is not None:
            return self._end(stream, line, place, named)
        else:
            return self._foreign(stream, state)
        state.last_line = (line, place)
        return self._count_body(stream, state)

    def _end(self, stream: _Stream, line: Line, place: Place, named: Named) -> Part:
        state = stream.open.pop()
        self._busy -= 1
        self._finish(stream, line, place, named, state)
        return Part.EXCEPTION

    def _foreign(self, stream: _Stream, state: _Open) -> Part:
        state.foreign += 1
        state.in_body = False
        self._give_up(stream, state)
        return Part.OTHER

    def _count_body(self, stream: _Stream, state: _Open) -> Part:
        state.body += 1
        self._give_up(stream, state)
        return Part.SOURCE

    def _give_up(self, stream: _Stream, state: _Open) -> None:
        if state.foreign > _FOREIGN_LINES or state.body > _BODY_LINES:
            stream.open.remove(state)
            self._busy -= 1

    def _alone(self, line: Line, place: Place) -> bool:
        """An exception without frames: what C++ says last, or a line that names one."""
        stream = self._streams.get(line.stream)
        if stream is not None and stream.thrown is not None:
            message = what(line.text)
            if message is not None:
                named = Named(stream.thrown, message)
                stream.thrown = None
                self._finish(stream, line, place, named, _Open(place, 0, Context.NATIVE, Link.NONE))
                return True
        if (failed := check_failed(line.text)) is not None:
            opened = _Open(place, 0, Context.NATIVE, Link.NONE)
            self._finish(self._stream(line.stream), line, place, failed, opened)
            return True
        bare = named_alone(line.text)
        if bare is None:
            return False
        stream = self._stream(line.stream)
        message_of = stream.message
        if message_of is not None and message_of.lines[0] == line.text.strip():
            self._count_finished()
            return True  # another rank's, in lockstep with this one
        inner = message_of is not None and message_of.seen <= _INNER_LINES
        link = Link.INNER if inner else Link.NONE
        self._finish(stream, line, place, bare, _Open(place, 0, Context.BARE, link))
        return True

    def _finish(
        self, stream: _Stream, line: Line, place: Place, named: Named, state: _Open
    ) -> None:
        self._end_message(stream)
        previous = stream.last if state.link is not Link.NONE else None
        if previous is not None:
            self._forget(previous)
            previous = _bounded(previous)
        elif state.context is Context.WORKER and stream.last is not None:
            # The parent's wrapper stands before the worker's own traceback and says nothing more.
            self._forget(stream.last)
        context, frames, own = state.context, tuple(state.frames), state.own
        if context is Context.MAIN and any(map(_is_of_a_thread, frames)):
            context = Context.THREAD
        if state.link is Link.INNER and previous is not None:
            context, frames, own = previous.context, previous.frames, previous.place_in_program
        found = Traceback(
            type=named.type[:_NAME_CHARS],
            message=named.message[:_MESSAGE_CHARS],
            frames=frames,
            file=self._file,
            start=state.start,
            end=place,
            rank=line.rank,
            stream=line.stream,
            context=context,
            link=state.link if previous is not None else Link.NONE,
            previous=previous,
            source=state.source[:_SOURCE_CHARS],
            place_in_program=own or (frames[-1] if frames else None),
        )
        text = line.text.strip()[:_MESSAGE_CHARS]
        if named.type not in text:
            text = f"{named.type}: {named.message}"[:_MESSAGE_CHARS]
        stream.message = _Message(found, line.stamped, [text], len(text))
        stream.last_line = place.line
        self._busy += 1
        if is_report(named.type):
            self._end_message(stream)

    def _continue(self, stream: _Stream, line: Line, benign: bool) -> Part:
        """One more line that may belong to the message of the exception before it."""
        message = stream.message
        assert message is not None
        text = line.text.strip()
        message.seen += 1
        if (line.stamped and not message.stamped) or message.seen > _MESSAGE_LINES:
            self._end_message(stream)
            return Part.OTHER
        if text in message.lines:
            message.seen -= 1
        elif text and not benign and message.chars < _MESSAGE_CHARS:
            message.lines.append(text[: _MESSAGE_CHARS - message.chars])
            message.chars += len(text)
        return Part.MESSAGE

    def _end_message(self, stream: _Stream) -> None:
        message, stream.message = stream.message, None
        if message is None:
            return
        self._busy -= 1
        text = " ".join(message.lines)
        found = replace(message.found, text=text)
        found = replace(found, observations=self._recognise(text, found))
        stream.last = found
        self.count += 1
        self._count_finished()
        if len(self._first) < _FIRST_KEPT:
            self._first.append(found)
        else:
            self._last.append(found)

    def _count_finished(self) -> None:
        """One more, also of those that another took the place of: so that the work is bounded."""
        self._finished += 1
        self.many = self.many or self._finished >= self._limit

    def _touched(self, line: Line, place: Place) -> _Stream | None:
        """The stream of *line*, if it is known; what others left unfinished is ended in time."""
        if self._busy:
            self._sweep(place.line)
        stream = self._streams.get(line.stream)
        if stream is not None:
            stream.last_line = place.line
        return stream

    def _sweep(self, line: int) -> None:
        """End what its stream has not gone on with for long: the process may be gone."""
        if line - self._swept < _IDLE_LINES:
            return
        self._swept = line
        for stream in self._streams.values():
            if stream.last_line + _IDLE_LINES < line:
                self._end_message(stream)
                self._busy -= len(stream.open)
                stream.open.clear()

    def _forget(self, traceback: Traceback) -> None:
        """Drop *traceback* from the heads: another has taken its place."""
        for kept in (self._last, self._first):
            for index, one in enumerate(kept):
                if one is traceback:
                    del kept[index]
                    self.count -= 1
                    return


def _bounded(last: Traceback) -> Traceback:
    """*last* with a chain that may grow by one: the first and the latest of it stay."""
    chain = last.chain()
    if len(chain) < _CHAIN:
        return last
    previous = chain[0]
    for one in chain[2:]:
        previous = replace(one, previous=previous)
    return previous


def _is_of_a_thread(frame: Frame) -> bool:
    """True for the threads of multiprocessing that print their exceptions without a word."""
    place = f"{frame.file.rpartition('/')[2]}:{frame.function}"
    return place in ("queues.py:_feed", "resource_sharer.py:_serve")


def merged(earlier: Iterable[Traceback], later: Iterable[Traceback]) -> tuple[Traceback, ...]:
    """*earlier*, then those of *later* that begin behind all of them."""
    kept = list(earlier)
    end = max((traceback.end.offset for traceback in kept), default=-1)
    return (*kept, *(one for one in later if one.start.offset > end))
