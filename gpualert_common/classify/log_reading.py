"""The result of reading one log."""

from __future__ import annotations

from gpualert_common.classify.different_lines import DifferentLines
from gpualert_common.classify.observations import Observation
from gpualert_common.classify.progress_marks import ProgressMarks
from gpualert_common.classify.tracebacks.traceback import Traceback
from gpualert_common.classify.watchdog_reports import WatchdogReport
from gpualert_common.structs import Struct

COUNT_LIMIT = 1_000
"""Matches of a pattern after which only the log's end is searched for more of it."""


class LogReading(Struct, frozen=True):
    """Observations and tracebacks of one log file, and its end.

    ``observations`` holds the first and the last few of each pattern, in the order of the file;
    ``counts`` how often each was made (by pattern id; at least so often if ``is_sampled``);
    those in the text of an exception are also among its own.  ``tracebacks`` are the heads of
    chains.  ``unscanned`` are byte ranges that were never fed; ``trained_from`` is the offset at
    which progress was first reported, None if never.  ``progress`` are the marks of progress in
    the tail, also behind the end of a reading that was cut.  ``different_lines`` are those of the
    tail.  ``is_sampled`` is True for a
    log so full of evidence that of a pattern only the first and the last matches were read.
    ``watchdog_reports`` are the numbers of collectives that watchdogs printed.
    """

    file: str
    size: int
    lines: int
    observations: tuple[Observation, ...]
    counts: dict[str, int]
    tracebacks: tuple[Traceback, ...]
    traceback_count: int
    unscanned: tuple[tuple[int, int], ...]
    trained_from: int | None
    tail: bytes
    tail_offset: int
    progress: ProgressMarks
    different_lines: DifferentLines
    is_sampled: bool = False
    watchdog_reports: tuple[WatchdogReport, ...] = ()
