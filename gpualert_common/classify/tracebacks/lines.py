"""Lines that begin a traceback, belong to one, or announce one."""

from __future__ import annotations

import re
from typing import NamedTuple

from gpualert_common.classify.tracebacks.exception_names import NAME_EXPRESSIONS
from gpualert_common.classify.tracebacks.traceback import ChainLink, Context, Frame

_CALLBACKS = (
    *("Exception occurred during processing of request", "Exception in ASGI application"),
    *("Exception calling application:", "Exception in callback ", "exception calling callback for"),
    *("Error handling request", "Exception in Tkinter callback", "Unhandled exception in callback"),
)
"""Words of servers and event loops about a request or a callback that failed; they go on."""

MARKERS = (
    "Traceback (most recent call",
    "During handling of the above exception",
    "The above exception was the direct cause",
    "Exception in thread ",
    "Exception ignored in",
    "exception was never retrieved",
    "Error in atexit._run_exitfuncs",
    *_CALLBACKS,
    "terminated with the following error",
    "terminate called after throwing",
    "--- Logging error ---",
    "Call stack:",
    "what():",
)
"""While no traceback is open the parser needs every line that contains one of these or matches
one of :data:`MARKER_EXPRESSIONS`."""

MARKER_EXPRESSIONS = (
    rb"Process \S+-\d+:",
    rb'File "[^"\n]+", line \d+',
    *NAME_EXPRESSIONS,
)

_HEADER_START = MARKERS[0]
_IGNORED = ("Exception ignored in", "--- Logging error ---", "Call stack:")
_AT_EXIT = "Error in atexit._run_exitfuncs"
_HEADER = re.compile(
    r"^(?P<before>.*?)Traceback \(most recent calls? (?:last|WITHOUT Sacred internals)\):?"
)
_RICH_HEADER = re.compile(r"^\s*[╭+┏][─━-]")
_GROUP_BOX = re.compile(r"^\s*[|+] ?")
_RICH_BOX = re.compile(r"^\s*[│┃╭╰┏┗|+]")
_RICH_TRIM = " │┃|\t"
_NOTEBOOK_TYPE = re.compile(r"^(?P<type>[A-Z]\w+)\s{3,}$")

_FRAME = re.compile(
    r'^\s*File "(?P<file>[^"]*)", line (?P<line>\d{1,9})(?:, in (?P<function>.*\S))?'
)
_NOTEBOOK_FRAME = re.compile(
    r"^(?:File |\[)?(?P<file>[^\s:<>\]]+\.py|<ipython-input-[^>]+>)(?:\]\([^)\s]*\))?"
    r"(?::(?P<line>\d{1,9}),)? in (?P<function>[\w<>.]+)(?:\(|$)"
)
_RICH_FRAME = re.compile(r"^(?P<file>[^\s:]\S*):(?P<line>\d{1,9}) in (?P<function>[\w<>.]+)$")

_SPAWNED = re.compile(r"/multiprocess(?:ing)?/(?:spawn|forkserver)\.py$")
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib(?:64)?/python\d[\d.]*/|^<frozen |^<__array_")
_QUEUE_THREADS = frozenset({"queues.py:_feed", "resource_sharer.py:_serve"})

_PROGRESS_BAR = re.compile(
    r"\d%\|.{0,150}\|\s*[\d.kM]{1,9}/[\d.kM?]{1,9} \[|\d/\d{1,9} ?\[[=>. ]{4,}\]|━{4}"
)
_BAR_CHARS = 400
_MAX_QUOTED_LINES = 200
MAX_NAME_CHARS = 300
"""Of the name of a file, a function or a type."""


class Header(NamedTuple):
    """First line of a traceback, and the form of the traceback below it.

    ``type`` is the exception's, which IPython writes in front of the header.
    """

    indent: int = 0
    is_rich: bool = False
    is_grouped: bool = False
    is_of_worker: bool = False
    type: str | None = None


def parse_header(text: str) -> Header | None:
    """Return the header of a traceback in *text*, also of one in a box."""
    if _HEADER_START not in text:
        return None
    match = _HEADER.match(text)
    if match is None:
        return None
    before = match["before"]
    is_rich = _RICH_HEADER.match(before) is not None
    is_grouped = not is_rich and _GROUP_BOX.match(before) is not None
    notebook_type = _NOTEBOOK_TYPE.match(before)
    return Header(
        indent=0 if before.strip() or is_grouped else len(before),
        is_rich=is_rich,
        is_grouped=is_grouped,
        is_of_worker=before.strip() == "Original",
        type=notebook_type["type"] if notebook_type else None,
    )


def find_announcement(text: str) -> ChainLink | Context | None:
    """Return what a line between tracebacks says about the next one: its link or its context."""
    if "During handling of the above exception" in text:
        return ChainLink.CONTEXT
    if "The above exception was the direct cause" in text:
        return ChainLink.CAUSE
    if text.startswith("Exception in thread "):
        return Context.THREAD
    if text.startswith(_IGNORED):
        return Context.IGNORED
    if text.endswith("exception was never retrieved") or text.startswith(_AT_EXIT):
        return Context.THREAD  # of a task or at exit: as with a thread, the program itself goes on
    if any(words in text for words in _CALLBACKS):
        return Context.THREAD
    if "terminated with the following error" in text:
        return Context.WORKER
    if text.startswith("Process ") and text.endswith(":"):
        return Context.PROCESS
    return None


def parse_frame(text: str) -> Frame | None:
    """Return the frame in *text*, as the interpreter writes it in a traceback."""
    match = _FRAME.match(text)
    return _make_frame(match, match["function"] or "") if match else None


def parse_frame_without_header(text: str) -> Frame | None:
    """Return the frame in *text* unless it belongs to a dump of all stacks by faulthandler."""
    match = _FRAME.match(text)
    if match is None or text.startswith(" in ", match.end()):
        return None
    return _make_frame(match, match["function"] or "")


def parse_notebook_frame(text: str) -> Frame | None:
    """Return the frame in *text*, as IPython writes it."""
    match = _NOTEBOOK_FRAME.match(text) if " in " in text else None
    if match is None:
        return None
    return _make_frame(match, match["function"].rpartition(".")[2])  # IPython writes the class, too


def parse_rich_frame(text: str) -> Frame | None:
    """Return the frame in *text*, a line of a box of rich."""
    match = _RICH_FRAME.match(text.strip(_RICH_TRIM))
    return _make_frame(match, match["function"]) if match else None


def _make_frame(match: re.Match[str], function: str) -> Frame:
    file, line = match["file"], int(match["line"] or 0)
    return Frame(file[-MAX_NAME_CHARS:], line, function[:MAX_NAME_CHARS])


def is_in_rich_box(text: str) -> bool:
    """True for a line of a box of rich."""
    return _RICH_BOX.match(text) is not None


def remove_group_box(text: str) -> str:
    """Return *text* without the border that an exception group has on its left."""
    return _GROUP_BOX.sub("", text)


def is_library(frame: Frame) -> bool:
    """True for a frame of a library, where an exception seldom has its cause."""
    return _LIBRARY.search(frame.file) is not None


def is_spawned(frame: Frame) -> bool:
    """True for the first frame of a worker process that multiprocessing started."""
    return _SPAWNED.search(frame.file) is not None


def is_in_queue_thread(frame: Frame) -> bool:
    """True for the threads of multiprocessing, whose exceptions nothing announces."""
    return f"{frame.file.rpartition('/')[2]}:{frame.function}" in _QUEUE_THREADS


def is_progress_bar(text: str) -> bool:
    """True for a progress bar, which is redrawn in the middle of other output."""
    text = text[:_BAR_CHARS]
    if "%|" not in text and "[" not in text and "━" not in text:
        return False  # the expression costs more than all else that a line of source needs
    return _PROGRESS_BAR.search(text) is not None


def split_quoted_traceback(text: str) -> list[str]:
    r"""Return the lines of a traceback that *text* holds as one string, with \n for line ends.

    Loggers write it so in JSON, and so does the repr of an exception.  Empty for other lines.
    """
    before, start, after = text.partition(_HEADER_START)
    if "\\n" not in after:
        return []
    quote = max('"', "'", key=before.rfind)
    if quote in before:
        after = re.split(rf"(?<!\\){quote}", after, maxsplit=1)[0]
    first, *others = after.replace('\\"', '"').replace("\\'", "'").split("\\n")
    lines = [before + start + first, *others]
    if len(lines) > _MAX_QUOTED_LINES:
        lines = [*lines[: _MAX_QUOTED_LINES // 2], *lines[-_MAX_QUOTED_LINES // 2 :]]
    return [line for line in lines if any(map(str.isalnum, line))]
