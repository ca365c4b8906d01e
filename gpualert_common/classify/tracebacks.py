"""Python tracebacks, read line by line from a log as it grows.

The parser keeps one stack of unfinished tracebacks per stream (a rank, a worker), so that ranks
that write at the same time do not disturb one another, and it keeps a bounded number of finished
ones.  It needs the lines from a header to the exception; between tracebacks it needs none.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from gpualert_common.classify.lines import Line, Place

MARKERS = (
    "Traceback (most recent call last)",
    "During handling of the above exception",
    "The above exception was the direct cause",
    "Exception in thread ",
    "Exception ignored in",
    "terminated with the following error",
)
"""Every line the parser wants to see while nothing is open contains one of these or matches
:data:`PROCESS_HEADER`."""

PROCESS_HEADER = rb"Process \S+-\d+:"

_HEADER = re.compile(r"^(?P<before>.*?)Traceback \(most recent call last\):?")
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]*)", line (?P<line>\d+)(?:, in (?P<function>.+))?')
_BOX = re.compile(r"^\s*[|+] ?")
_EXCEPTION = re.compile(
    r"^(?P<type>(?:[A-Za-z_]\w*\.)*(?P<name>[A-Za-z_]\w*))(?:: ?(?P<message>.*)|)$"
)
_TELLING = re.compile(
    r"(?:Error|Exception|Warning|Interrupt|Exit|Iteration|Failure|Failed|Timeout|Fault|Group)$"
    r"|^(?:error|gaierror|herror|timeout|Empty|Full|BadZipFile|RemoteTraceback|Abort|CancelledError)$"
)
_LEVELS = frozenset({"DEBUG", "INFO", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "NOTE"})

_INSTALLED = re.compile(
    r"/(?:site|dist)-packages/|/lib(?:64)?/python\d[\d.]*/|^<frozen |^<__array_"
)
"""Files of libraries: where an exception is raised, but seldom where its cause stands."""

_LAST_FRAMES = 8
_OPEN_STREAMS = 64
_OPEN_PER_STREAM = 4
_BODY_LINES = 20_000
_FOREIGN_LINES = 60
_CHAIN = 8
_FIRST_KEPT = 16
_LAST_KEPT = 48
_MESSAGE_CHARS = 2_000
MANY = 1_000
"""Tracebacks after which only the end of the log is still searched for more."""


class Context(StrEnum):
    """Where an exception surfaced, as the line before its traceback says."""

    MAIN = "main"
    THREAD = "thread"
    PROCESS = "process"
    WORKER = "worker"
    IGNORED = "ignored"


class Link(StrEnum):
    """How an exception relates to the one before it in a chain."""

    NONE = "none"
    CAUSE = "cause"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: file, line and function as the interpreter named them."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Traceback:
    """One traceback: from ``start`` (its header) to ``end`` (the line with type and message).

    ``frames`` are the last few, innermost last; ``place_in_program`` is the innermost frame in a
    file that is not a library's, or the innermost of all.  ``previous`` is the exception before it
    in the chain, related by ``link``.
    """

    type: str
    message: str
    frames: tuple[Frame, ...]
    file: str
    start: Place
    end: Place
    rank: int | None
    stream: str
    context: Context = Context.MAIN
    link: Link = Link.NONE
    previous: Traceback | None = None
    place_in_program: Frame | None = None

    @property
    def name(self) -> str:
        """The exception's class without its modules."""
        return self.type.rpartition(".")[2]

    def chain(self) -> tuple[Traceback, ...]:
        """This exception and those that led to it, the first of them first."""
        found = [self]
        while found[-1].previous is not None:
            found.append(found[-1].previous)
        return tuple(reversed(found))


@dataclass(slots=True)
class _Open:
    start: Place
    indent: int
    boxed: bool
    context: Context
    link: Link
    frames: deque[Frame] = field(default_factory=lambda: deque(maxlen=_LAST_FRAMES))
    own: Frame | None = None
    in_body: bool = False
    body: int = 0
    foreign: int = 0


@dataclass(slots=True)
class _Stream:
    open: list[_Open] = field(default_factory=list)
    context: Context = Context.MAIN
    link: Link = Link.NONE
    last: Traceback | None = None


class TracebackParser:
    """Feed lines in order; read :attr:`found` at any time.

    ``count`` is how many heads of chains were found; once it was *limit*, ``many`` is True
    and no further traceback is begun.
    """

    def __init__(self, file: str, limit: int = MANY) -> None:
        self._file = file
        self._limit = limit
        self._streams: dict[str, _Stream] = {}
        self._first: list[Traceback] = []
        self._last: deque[Traceback] = deque(maxlen=_LAST_KEPT)
        self._open = 0
        self.count = 0
        self.many = False

    @property
    def open(self) -> bool:
        """True while a traceback is unfinished: then every line must be fed."""
        return self._open > 0

    @property
    def found(self) -> tuple[Traceback, ...]:
        """The first and the last finished tracebacks, heads of their chains, in order."""
        return (*self._first, *self._last)

    def feed(self, line: Line, place: Place) -> bool:
        """Take *line*; True when it is quoted source, and so no evidence of anything."""
        stream = self._streams.get(line.stream)
        header = _HEADER.match(line.text)
        if header and not self.many:
            self._begin(line.stream, header["before"], place)
            return False
        if stream is not None and stream.open:
            return self._take(stream, line, place)
        if not self.many:
            self._note(line)
        return False

    def _note(self, line: Line) -> None:
        """Remember what a line between tracebacks says of the next one."""
        text = line.text
        if "During handling of the above exception" in text:
            self._stream(line.stream).link = Link.CONTEXT
        elif "The above exception was the direct cause" in text:
            self._stream(line.stream).link = Link.CAUSE
        elif text.startswith("Exception in thread "):
            self._stream(line.stream).context = Context.THREAD
        elif text.startswith("Exception ignored in"):
            self._stream(line.stream).context = Context.IGNORED
        elif "terminated with the following error" in text:
            self._stream(line.stream).context = Context.WORKER
        elif text.startswith("Process ") and text.endswith(":"):
            self._stream(line.stream).context = Context.PROCESS

    def _stream(self, name: str) -> _Stream:
        if name not in self._streams and len(self._streams) >= _OPEN_STREAMS:
            idle = next((key for key, value in self._streams.items() if not value.open), None)
            victim = self._streams.pop(idle if idle is not None else next(iter(self._streams)))
            self._open -= len(victim.open)
        return self._streams.setdefault(name, _Stream())

    def _begin(self, name: str, before: str, place: Place) -> None:
        stream = self._stream(name)
        boxed = bool(_BOX.match(before))
        context = Context.WORKER if before.strip() == "Original" else stream.context
        indent = 0 if before.strip() and not boxed else len(_BOX.sub("", before))
        if boxed:
            indent = 0
        stream.open.append(_Open(place, indent, boxed, context, stream.link))
        self._open += 1
        stream.context, stream.link = Context.MAIN, Link.NONE
        if len(stream.open) > _OPEN_PER_STREAM:
            stream.open.pop(0)
            self._open -= 1

    def _take(self, stream: _Stream, line: Line, place: Place) -> bool:
        state = stream.open[-1]
        text = _BOX.sub("", line.text) if state.boxed else line.text
        body = text.lstrip()
        if not body:
            return False
        if frame := _FRAME.match(text):
            state.frames.append(Frame(frame[1], int(frame[2]), frame[3] or ""))
            if not _INSTALLED.search(frame[1]):
                state.own = state.frames[-1]
            state.in_body = True
        elif len(text) - len(body) > state.indent:
            state.in_body = True
        elif _ends(text.strip(), state.in_body):
            self._finish(stream, line, text.strip(), place)
            return False
        else:
            state.foreign += 1
            state.in_body = False
            self._give_up(stream, state)
            return False
        state.body += 1
        self._give_up(stream, state)
        return True

    def _give_up(self, stream: _Stream, state: _Open) -> None:
        if state.foreign > _FOREIGN_LINES or state.body > _BODY_LINES:
            stream.open.remove(state)
            self._open -= 1

    def _finish(self, stream: _Stream, line: Line, text: str, place: Place) -> None:
        state = stream.open.pop()
        self._open -= 1
        match = _EXCEPTION.match(text)
        assert match is not None
        previous = stream.last if state.link is not Link.NONE else None
        if previous is not None:
            self._forget(previous)
            if len(previous.chain()) >= _CHAIN:
                previous = None
        elif state.context is Context.WORKER and stream.last is not None:
            # The parent's wrapper stands before the worker's own traceback and says nothing more.
            self._forget(stream.last)
        found = Traceback(
            type=match["type"],
            message=(match["message"] or "")[:_MESSAGE_CHARS],
            frames=tuple(state.frames),
            file=self._file,
            start=state.start,
            end=place,
            rank=line.rank,
            stream=line.stream,
            context=state.context,
            link=state.link if previous is not None else Link.NONE,
            previous=previous,
            place_in_program=state.own or (state.frames[-1] if state.frames else None),
        )
        stream.last = found
        self.count += 1
        self.many = self.many or self.count >= self._limit
        if len(self._first) < _FIRST_KEPT:
            self._first.append(found)
        else:
            self._last.append(found)

    def _forget(self, traceback: Traceback) -> None:
        """Drop *traceback* from the heads: another has taken its place."""
        for kept in (self._last, self._first):
            if kept and kept[-1] is traceback:
                kept.pop()
                self.count -= 1
                return


def _ends(text: str, in_body: bool) -> bool:
    """True when *text* is the line that names the exception.

    A name that says it is an exception is believed anywhere; another one only right behind a
    frame, because in between may stand what other processes wrote.
    """
    match = _EXCEPTION.match(text)
    if match is None or match["name"] in _LEVELS:
        return False
    return bool(_TELLING.search(match["name"])) or (in_body and not match["name"].islower())


def merged(earlier: Iterable[Traceback], later: Iterable[Traceback]) -> tuple[Traceback, ...]:
    """*earlier*, then those of *later* that begin behind all of them."""
    kept = list(earlier)
    end = max((traceback.end.offset for traceback in kept), default=-1)
    return (*kept, *(one for one in later if one.start.offset > end))
