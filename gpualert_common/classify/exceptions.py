"""Which lines of a log name an exception, belong to a traceback, or announce one."""

from __future__ import annotations

import re
from typing import NamedTuple

HEADER = re.compile(
    r"^(?P<before>.*?)Traceback \(most recent calls? (?:last|WITHOUT Sacred internals)\):?"
)
"""Begins a traceback, in a box of rich's too; ``before`` is what stands in front."""

FRAME = re.compile(
    r'^\s*File "(?P<file>[^"]*)", line (?P<line>\d{1,9})(?:, in (?P<function>.*\S))?'
)
_BAR = re.compile(
    r"\d%\|.{0,150}\|\s*[\d.kM]{1,9}/[\d.kM?]{1,9} \[|\d/\d{1,9} ?\[[=>. ]{4,}\]|━{4}"
)

IPYTHON_FRAME = re.compile(
    r"^(?:File |\[)?(?P<file>[^\s:<>\]]+\.py|<ipython-input-[^>]+>)(?:\]\([^)\s]*\))?"
    r"(?::(?P<line>\d{1,9}),)? in (?P<function>[\w<>.]+)(?:\(|$)"
)
RICH_FRAME = re.compile(r"^(?P<file>[^\s:]\S*):(?P<line>\d{1,9}) in (?P<function>[\w<>.]+)$")

MARKERS = (
    "Traceback (most recent call",
    "During handling of the above exception",
    "The above exception was the direct cause",
    "Exception in thread ",
    "Exception ignored in",
    "terminated with the following error",
    "terminate called after throwing",
    "--- Logging error ---",
    "Call stack:",
    "what():",
)
"""While no traceback is open the parser wants to see every line that contains one of these or
matches one of :data:`HEADLESS`."""

UNTELLING = (
    *("ArrowInvalid", "BadZipFile", "BrokenProcessPool", "ContextualVersionConflict"),
    *("DistributionNotFound", "KilledWorker", "MissingMandatoryValue", "NoSuchBucket"),
    *("NoSuchKey", "RateLimitReached", "RemoteDisconnected", "TimeoutExpired"),
)
"""Exceptions whose names do not say by their ending that they are some."""

HEADLESS = (
    rb"Process \S+-\d+:",
    rb'File "[^"\n]+", line \d+',
    rb"[A-Za-z](?:Error|Interrupt|Fault|Failed|Failure|Exit|Timeout)\b",
    rb"Exception\b",
    rb"(?:errors?|exceptions?|exc|errorfactory)\.[A-Z]\w*: |\.[Ee]rror: |Error_[A-Z]",
    *(re.escape(name).encode() for name in UNTELLING),
    rb"Check failed: ",
)

SPAWNED = re.compile(r"/multiprocess(?:ing)?/(?:spawn|forkserver)\.py$")
"""Where the traceback of a worker process begins that multiprocessing started anew."""

INSTALLED = re.compile(r"/(?:site|dist)-packages/|/lib(?:64)?/python\d[\d.]*/|^<frozen |^<__array_")
"""Files of libraries: where an exception is raised, but seldom where its cause stands."""

_EXCEPTION = re.compile(
    r"^(?P<type>(?:[A-Za-z_]\w*\.)*(?P<name>[A-Za-z_]\w*))(?:: ?(?P<message>.*)|)$"
)
_TELLING = re.compile(
    r"(?:Error(?:_\w+)?|Exception|Warning|Interrupt|Exit|Iteration|Failure|Failed|Timeout|Fault)$"
    r"|Group$|^(?:error|gaierror|herror|timeout|Empty|Full|RemoteTraceback|Abort|CancelledError"
    rf"|{'|'.join(UNTELLING)})$"
)
_BARE = re.compile(
    r"^\s{0,3}(?:E\s{2,7})?(?P<type>"
    r"(?:[A-Za-z_]\w*\.)*(?:_*[A-Z]\w*(?:Error|Exception|Interrupt|Fault|Failed|Failure|Exit|Timeout)"
    r"|Exception)(?=:|$)"
    r"|(?:[A-Za-z_]\w*\.)+(?:_*[A-Z]\w*|error)(?=: ))"
    r"(?:: ?(?P<message>.*)|)$"
)
_OF_ERRORS = re.compile(r"(?:^|[._])(?:errors?|exceptions?|exc|errorfactory)\.\w+$")
"""A dotted name that is an exception's by its module, where its ending does not say so."""
_LONGEST_REPR = 1000
_REPR = re.compile(
    r"^(?:.*(?:[Ee]rror|ERROR|[Ff]ailed|exception).*: )?"
    r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception))\((?P<message>.*)\)$"
)
_REPORTS = frozenset(
    {
        *("ChildFailedError", "RemoteTraceback", "CalledProcessError"),
        *("ProcessExitedException", "ProcessRaisedException"),
    }
)
"""They only say that another process failed; what and why stands in other lines."""
_AFTERMATH = frozenset(
    {
        *("EOFError", "BrokenPipeError", "ConnectionResetError", "ConnectionAbortedError"),
        *("CancelledError", "ActorDiedError", "RayActorError", "ActorUnavailableError"),
        *("WorkerCrashedError", "BrokenProcessPool", "BrokenExecutor", "EngineDeadError"),
        *("TerminatedWorkerError", "KilledWorker"),
    }
)
"""They say that another process is gone, or that others gave up."""
_RAISED = re.compile(r"^raise (?P<type>(?:[A-Za-z_]\w*\.)*_*[A-Z]\w*)\b")
_LEVELS = frozenset({"DEBUG", "INFO", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "NOTE"})
_THROWN = re.compile(r"terminate called after throwing an instance of '(?P<type>[^']+)'")
_CHECK = re.compile(r"(?:^|\] |: )Check failed: (?P<message>.{3,})$")
_WHAT = re.compile(r"what\(\):\s*(?P<message>.*)$")


class Named(NamedTuple):
    """The type of an exception as the line has it, and its message."""

    type: str
    message: str

    @property
    def is_sure(self) -> bool:
        """True when no line of source looks like it."""
        return bool(_TELLING.search(self.type.rpartition(".")[2])) and not self.type.islower()


def named_after_frames(text: str, in_body: bool) -> Named | None:
    """The exception that *text* names at the end of an open traceback, if it does.

    A name that says it is an exception is believed anywhere; another one only right behind a
    frame (*in_body*), because in between may stand what other processes wrote.
    """
    match = _EXCEPTION.match(text)
    if match is None or match["name"] in _LEVELS:
        return None
    if _TELLING.search(match["name"]) or (in_body and not match["name"].islower()):
        return Named(match["type"], match["message"] or "")
    return None


def named_alone(text: str) -> Named | None:
    """The exception that *text* names without a traceback above it, if it does."""
    match = _BARE.match(text)
    if match is None and len(text) <= _LONGEST_REPR:
        match = _REPR.match(text)
    if match is None or is_report(match["type"]) or match["type"].endswith("Warning"):
        return None
    if not is_telling(match["type"]) and not _OF_ERRORS.search(match["type"]):
        return None  # a logger may be called app.Trainer
    return Named(match["type"], match["message"] or "")


_MOST_QUOTED = 200


def quoted_lines(text: str) -> list[str]:
    r"""The lines of a traceback that stands as one string in *text*, with \n for their ends.

    So loggers in JSON write it, and whoever prints the repr of an exception.  Empty for others.
    """
    before, begins, behind = text.partition("Traceback (most recent call")
    if "\\n" not in behind:
        return []
    quote = max('"', "'", key=before.rfind)
    if quote in before:
        behind = re.split(rf"(?<!\\){quote}", behind, maxsplit=1)[0]
    pieces = [before + begins, *behind.replace('\\"', '"').replace("\\'", "'").split("\\n")]
    pieces[:2] = ["".join(pieces[:2])]
    if len(pieces) > _MOST_QUOTED:
        pieces = [*pieces[: _MOST_QUOTED // 2], *pieces[-_MOST_QUOTED // 2 :]]
    return [piece for piece in pieces if any(map(str.isalnum, piece))]


def is_bar(text: str) -> bool:
    """True for a progress bar, which is redrawn in the middle of whatever else is written."""
    return _BAR.search(text[:400]) is not None


def is_telling(name: str) -> bool:
    """True for a name that says by its ending that it is an exception's."""
    return bool(_TELLING.search(name.rpartition(".")[2]))


def type_before(header: str) -> str | None:
    """The type that IPython writes in front of a traceback's header."""
    match = re.match(r"^(?P<type>[A-Z]\w+)\s{3,}$", header)
    return match["type"] if match else None


def raised_by(source: str) -> str | None:
    """The type that a line of source raises by name, or by asserting."""
    match = _RAISED.match(source.strip())
    if match is None:
        return "AssertionError" if source.startswith("assert ") else None
    return match["type"]


def is_report(type_name: str) -> bool:
    """True for an exception whose message is a report on others, to be read line by line."""
    return type_name.rpartition(".")[2] in _REPORTS


def is_aftermath(type_name: str) -> bool:
    """True for an exception that, unless its message says more, only followed another failure."""
    return is_report(type_name) or type_name.rpartition(".")[2] in _AFTERMATH


def thrown(text: str) -> str | None:
    """The C++ type that the run-time library says was thrown and not caught."""
    match = _THROWN.search(text)
    return match["type"] if match else None


def check_failed(text: str) -> Named | None:
    """What glog's CHECK says when it fails, as an exception."""
    match = _CHECK.search(text)
    return Named("Check failed", match["message"]) if match else None


def what(text: str) -> str | None:
    """The message of an uncaught C++ exception."""
    match = _WHAT.search(text)
    return match["message"] if match else None
