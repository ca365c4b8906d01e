"""Lines that name an exception, and what the name of an exception says about it."""

from __future__ import annotations

import builtins
import re
from typing import NamedTuple

_UNMARKED = (
    *("ArrowInvalid", "BadZipFile", "BrokenProcessPool", "ContextualVersionConflict"),
    *("DistributionNotFound", "KilledWorker", "MissingMandatoryValue", "NoSuchBucket"),
    *("NoSuchKey", "RateLimitReached", "RemoteDisconnected", "TimeoutExpired"),
)
"""Exceptions whose names do not end like those of exceptions."""

NAME_EXPRESSIONS = (
    rb"[A-Za-z](?:Error|Interrupt|Fault|Failed|Failure|Exit|Timeout)\b",
    rb"Exception\b",
    rb"(?:errors?|exceptions?|exc|errorfactory)\.[A-Z]\w*: |\.[Ee]rror: |Error_[A-Z]",
    *(re.escape(name).encode() for name in _UNMARKED),
    rb"Check failed: ",
)
"""A line that names an exception without a traceback matches one of these."""

_NAMED = re.compile(r"^(?P<type>(?:[A-Za-z_]\w*\.)*(?P<name>[A-Za-z_]\w*))(?:: ?(?P<message>.*)|)$")
_EXCEPTION_NAME = re.compile(
    r"(?:Error(?:_\w+)?|Exception|Warning|Interrupt|Exit|Iteration|Failure|Failed|Timeout|Fault)$"
    r"|Group$|^(?:error|gaierror|herror|timeout|Empty|Full|RemoteTraceback|Abort|CancelledError"
    rf"|{'|'.join(_UNMARKED)})$"
)
_BARE = re.compile(
    r"^\s{0,3}(?:E\s{2,7}|ERROR: (?:LoadError: |InitError: |TaskFailedException: )*)?(?P<type>"
    r"(?:[A-Za-z_]\w*\.)*(?:_*[A-Z]\w*(?:Error|Exception|Interrupt|Fault|Failed|Failure|Exit|Timeout)"
    r"|Exception)(?=:|$)"
    r"|(?:[A-Za-z_]\w*\.)+(?:_*[A-Z]\w*|error)(?=: ))"
    r"(?:: ?(?P<message>.*)|)$"
)
_IN_ERROR_MODULE = re.compile(r"(?:^|[._])(?:errors?|exceptions?|exc|errorfactory)\.\w+$")
"""A dotted name that is an exception's by its module, where its ending does not say so."""
_MAX_REPR_CHARS = 1000
_REPR = re.compile(
    r"^(?:.*(?:[Ee]rror|ERROR|[Ff]ailed|exception).*: )?"
    r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception))\((?P<message>.*)\)$"
)
_REPORTS = frozenset(
    {
        *("ChildFailedError", "RemoteTraceback", "CalledProcessError"),
        *("ProcessExitedException", "ProcessRaisedException"),
        "FailedJobError",
    }
)
"""They only report that another process failed; the reason stands in other lines."""
_AFTERMATH = frozenset(
    {
        *("EOFError", "BrokenPipeError", "ConnectionResetError", "ConnectionAbortedError"),
        *("CancelledError", "ActorDiedError", "RayActorError", "ActorUnavailableError"),
        *("WorkerCrashedError", "BrokenProcessPool", "BrokenExecutor", "EngineDeadError"),
        *("TerminatedWorkerError", "KilledWorker", "TrainingFailedError", "UncompletedJobError"),
    }
)
"""They report that another process is gone, or that others gave up."""
_RAISE = re.compile(r"^raise (?P<type>(?:[A-Za-z_]\w*\.)*_*[A-Z]\w*)\b")
_LEVELS = frozenset({"DEBUG", "INFO", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "NOTE"})
_THROWN = re.compile(r"terminate called after throwing an instance of '(?P<type>[^']+)'")
_CHECK = re.compile(r"(?:^|\] |: )Check failed: (?P<message>.{3,})$")
_WHAT = re.compile(r"what\(\):\s*(?P<message>.*)$")


class NamedException(NamedTuple):
    """The type and the message of an exception, as a line has them."""

    type: str
    message: str

    @property
    def is_certain(self) -> bool:
        """True when no line of source looks like it."""
        return is_exception_name(self.type) and not self.type.islower()


def find_exception_after_frames(text: str, *, in_body: bool) -> NamedException | None:
    """Return the exception that *text* names at the end of an open traceback.

    A name with the ending of an exception counts anywhere.  Any other name counts only directly
    after a frame (*in_body*), because lines of other processes may stand in between.
    """
    match = _NAMED.match(text)
    if match is None or match["name"] in _LEVELS:
        return None
    if is_exception_name(match["name"]) or (in_body and not match["name"].islower()):
        return NamedException(match["type"], match["message"] or "")
    return None


def find_bare_exception(text: str) -> NamedException | None:
    """Return the exception that *text* names without a traceback above it."""
    match = _BARE.match(text)
    if match is None and len(text) <= _MAX_REPR_CHARS:
        match = _REPR.match(text)
    if match is None or is_report(match["type"]) or match["type"].endswith("Warning"):
        return None
    if not is_exception_name(match["type"]) and not _IN_ERROR_MODULE.search(match["type"]):
        return None  # a logger may be called app.Trainer
    return NamedException(match["type"], match["message"] or "")


def find_failed_check(text: str) -> NamedException | None:
    """Return the failed CHECK of glog that *text* reports, as an exception."""
    match = _CHECK.search(text)
    return NamedException("Check failed", match["message"]) if match else None


def find_thrown_type(text: str) -> str | None:
    """Return the C++ type that the runtime library reports as thrown and not caught."""
    match = _THROWN.search(text)
    return match["type"] if match else None


def find_thrown_message(text: str) -> str | None:
    """Return the message of an uncaught C++ exception."""
    match = _WHAT.search(text)
    return match["message"] if match else None


def find_raised_type(source: str) -> str | None:
    """Return the type that a line of source raises by name, or by an assertion."""
    match = _RAISE.match(source.strip())
    if match is None:
        return "AssertionError" if source.startswith("assert ") else None
    return match["type"]


def is_exception_name(name: str) -> bool:
    """True for a name that ends like the name of an exception."""
    return bool(_EXCEPTION_NAME.search(name.rpartition(".")[2]))


def is_of_program(name: str) -> bool:
    """True for a type of exception that a program or a library defines, not Python itself."""
    return not hasattr(builtins, name) and name != "Check failed"


def is_report(type_name: str) -> bool:
    """True for an exception whose message is a report on others, to be read line by line."""
    return type_name.rpartition(".")[2] in _REPORTS


def is_aftermath(type_name: str) -> bool:
    """True for an exception that only follows another failure, unless its message says more."""
    return is_report(type_name) or type_name.rpartition(".")[2] in _AFTERMATH
