"""Exceptions as a log tells them: where each surfaced, what it said, and what it followed from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum

from gpualert_common.classify.lines import Place
from gpualert_common.classify.observations import Observation


class Context(StrEnum):
    """Where an exception surfaced, as the lines before it say."""

    MAIN = "main"
    THREAD = "thread"
    PROCESS = "process"
    WORKER = "worker"
    IGNORED = "ignored"
    NATIVE = "native"
    BARE = "bare"
    CUT_OFF = "cut off"


class Link(StrEnum):
    """How an exception relates to the one before it in a chain."""

    NONE = "none"
    CAUSE = "cause"
    CONTEXT = "context"
    INNER = "inner"


class Part(Enum):
    """What a line is to the exceptions around it."""

    SOURCE = "source"
    """Quoted source, and so no evidence of anything."""
    EXCEPTION = "exception"
    """It names an exception."""
    MESSAGE = "message"
    """It may belong to an exception's message."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: file, line and function as the interpreter named them."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Traceback:
    """One exception: from ``start`` (its header) to ``end`` (the line with type and message).

    ``text`` is that line and the further lines of the message, joined; ``observations`` what
    patterns saw in it; ``source`` is the last line of source that was quoted.  ``frames`` are the
    last few, innermost last; ``place_in_program`` is the innermost frame in a file that is not a
    library's, or the innermost of all.  ``previous`` is
    the exception before it in the chain, related by ``link``.  A C++ exception has the context
    ``native``; one that is named without any traceback is ``bare``; one that the log's end cut
    off before it was named is ``cut off``.
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
    text: str = ""
    source: str = ""
    observations: tuple[Observation, ...] = ()

    @property
    def name(self) -> str:
        """The exception's class without its modules."""
        return self.type.rpartition(".")[2].rpartition("::")[2]

    @property
    def places(self) -> list[str]:
        """Its frames as "path:function", with / for what Windows writes."""
        return [f"{frame.file}:{frame.function}".replace("\\", "/") for frame in self.frames]

    def chain(self) -> tuple[Traceback, ...]:
        """This exception and those that led to it, the first of them first."""
        found = [self]
        while found[-1].previous is not None:
            found.append(found[-1].previous)
        return tuple(reversed(found))
