"""Exceptions read from a log: where each surfaced, its message, and its place in a chain."""

from __future__ import annotations

from enum import Enum, StrEnum

from gpualert_common.classify.lines import LinePosition
from gpualert_common.classify.observations import Observation
from gpualert_common.structs import Struct, replace

_MAX_CHAIN = 8
"""Exceptions kept of one chain: the first and the latest."""


class Context(StrEnum):
    """Context in which an exception surfaced, by the lines before it."""

    MAIN = "main"
    THREAD = "thread"
    PROCESS = "process"
    WORKER = "worker"
    IGNORED = "ignored"
    NATIVE = "native"
    BARE = "bare"
    CUT_OFF = "cut off"


class ChainLink(StrEnum):
    """Relation of an exception to the one before it in a chain."""

    NONE = "none"
    CAUSE = "cause"
    CONTEXT = "context"
    INNER = "inner"


class TracebackPart(Enum):
    """Relation of a line to the exceptions around it."""

    SOURCE = "source"
    """Quoted source, which is evidence of nothing."""
    EXCEPTION = "exception"
    """The line names an exception."""
    MESSAGE = "message"
    """The line may belong to the message of an exception."""
    OTHER = "other"


class Frame(Struct, frozen=True):
    """One frame: file, line and function as the interpreter wrote them."""

    file: str
    line: int
    function: str


class Traceback(Struct, frozen=True):
    """One exception, from ``start`` (its header) to ``end`` (the line with type and message).

    ``text`` joins that line and the further lines of the message, ``observations`` are the
    matches of patterns in it, and ``source`` is the last line of source quoted.  ``frames`` are
    the last few, innermost last, and ``outermost`` is the first of all, where the exception was
    caught; ``place_in_program`` is the innermost frame outside libraries, or else the innermost
    frame.  ``previous`` is the exception before it in the chain, related
    by ``link``.  The context of a C++ exception is ``native``, of an exception without a
    traceback ``bare``, of one that the end of the log cuts off ``cut off``.
    """

    type: str
    message: str
    frames: tuple[Frame, ...]
    file: str
    start: LinePosition
    end: LinePosition
    rank: int | None
    stream: str
    context: Context = Context.MAIN
    link: ChainLink = ChainLink.NONE
    previous: Traceback | None = None
    place_in_program: Frame | None = None
    outermost: Frame | None = None
    text: str = ""
    source: str = ""
    observations: tuple[Observation, ...] = ()

    @property
    def name(self) -> str:
        """Class name of the exception, without its modules."""
        return self.type.rpartition(".")[2].rpartition("::")[2]

    @property
    def places(self) -> list[str]:
        """The frames as "path:function", with / in place of the separator of Windows."""
        return [f"{frame.file}:{frame.function}".replace("\\", "/") for frame in self.frames]

    def chain(self) -> tuple[Traceback, ...]:
        """Return the exceptions that led to this one, the first of them first, and this one."""
        found = [self]
        while found[-1].previous is not None:
            found.append(found[-1].previous)
        return tuple(reversed(found))

    def linked_to(self, previous: Traceback, link: ChainLink) -> Traceback:
        """Return this exception as the next of the chain of *previous*, whose length is bounded.

        An inner exception, which the message of *previous* names, has the frames of *previous*.
        """
        linked = replace(self, previous=previous.shorten_chain(), link=link)
        if link is not ChainLink.INNER:
            return linked
        return replace(
            linked,
            context=previous.context,
            frames=previous.frames,
            place_in_program=previous.place_in_program,
            outermost=previous.outermost,
        )

    def shorten_chain(self) -> Traceback:
        """Return this exception with room for one more in its chain; the first one stays."""
        chain = self.chain()
        if len(chain) < _MAX_CHAIN:
            return self
        shortened = chain[0]
        for one in chain[2:]:
            shortened = replace(one, previous=shortened)
        return shortened
