"""Reading a log once, forward, in bounded memory: from bytes to observations and tracebacks.

How a log is cut into calls of :meth:`Scanner.feed` never changes the result: only whole lines are
searched, and a line too long is cut at fixed distances from its start.
"""

from __future__ import annotations

import os
import sys

from gpualert_common.causes import SIGNAL_CAUSES
from gpualert_common.classify.compiled_rules import compile_rules, match_patterns
from gpualert_common.classify.different_lines import DifferentLines
from gpualert_common.classify.line_prefixes import PrefixedLine, strip_prefixes
from gpualert_common.classify.line_quota import LineQuota
from gpualert_common.classify.lines import (
    LINE_CAP,
    LinePosition,
    LogRegion,
    find_last_lines,
    split_long_lines,
)
from gpualert_common.classify.log_reading import COUNT_LIMIT, LogReading
from gpualert_common.classify.observation_store import ObservationStore
from gpualert_common.classify.observations import Observation, make_observation
from gpualert_common.classify.probes import Probe, ProbeFilter
from gpualert_common.classify.progress_marks import PROGRESS_MARK, ProgressMarks
from gpualert_common.classify.rules import RuleSet
from gpualert_common.classify.selected_lines import SelectedLines
from gpualert_common.classify.tracebacks.finished import merge_tracebacks
from gpualert_common.classify.tracebacks.reader import TracebackParser
from gpualert_common.classify.tracebacks.traceback import Traceback, TracebackPart
from gpualert_common.classify.watchdog_reports import WatchdogReports
from gpualert_common.model import Role

CHUNK_BYTES = 256 << 10
"""A good size of the pieces in which to feed a log."""

TAIL_BYTES = 64 << 10
"""The end of the log that a reading keeps, for what is known only once the log has ended."""

_TAIL_LINES = 1_000
"""Lines of that end that are read again at most, to bound the work."""

_WORK_OF_EXCEPTION = 4
"""An exception takes as much work as this many lines."""

_MUCH_WASTED = 64
"""Occurrences of exhausted probes, counted by regions, that take as long as making a filter."""

_EXCEPTION = b"""Traceback (most recent call last):
  File "train.py", line 1, in <module>
    main()
ValueError: no value
"""

_BEGINNING = LinePosition(line=1, offset=0)


class Scanner:
    """Reads one log.  Not thread-safe; feed it from one thread, in the order of the file."""

    def __init__(
        self,
        rules: RuleSet,
        file: str,
        *,
        start: LinePosition = _BEGINNING,
        limit: int = COUNT_LIMIT,
    ) -> None:
        """Read from *start* on; look for a pattern only until it was observed *limit* times."""
        self._rules = rules
        self._file = file
        self._incomplete_line = b""
        self._next_offset = start.offset
        self._lines = start.line - 1
        self._tail = b""
        self._unscanned: list[tuple[int, int]] = []
        self._trained_from: int | None = None
        self._quota = LineQuota()
        self._exhausted: set[Probe] = set()
        self._exhausted_benign: list[Probe] = []
        self._wasted = 0
        self._filter: ProbeFilter | None = None
        self._observations = ObservationStore(limit)
        self._watchdogs = WatchdogReports()
        self._tracebacks = TracebackParser(
            file, self._observe_exception, limit // _WORK_OF_EXCEPTION
        )

    def feed(self, data: bytes, offset: int) -> None:
        """Take the bytes at *offset*.  Never raises, whatever they are.

        Bytes that were fed before are skipped; a gap is remembered as not scanned, and the line
        before it ends there.
        """
        if offset < self._next_offset:
            data = data[self._next_offset - offset :]
        elif offset > self._next_offset:
            self._skip_to(offset)
        if not data:
            return
        start = self._next_offset - len(self._incomplete_line)
        block = self._incomplete_line + data if self._incomplete_line else data
        self._next_offset += len(data)
        self._tail = (data if len(data) >= TAIL_BYTES else self._tail + data)[-TAIL_BYTES:]
        end = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        end += (len(block) - end) // LINE_CAP * LINE_CAP
        self._incomplete_line = block[end:]
        for begin, stop in split_long_lines(block, end):
            self._scan(block[begin:stop], start + begin)

    def finish(self) -> LogReading:
        """Return the reading; the last line counts also without an end.  Call it once, last."""
        self._scan_incomplete_line()
        self._tracebacks.close()
        tracebacks = self._tracebacks.found
        is_sampled = self._has_left_out()
        if is_sampled:
            tracebacks = self._read_tail_again()
        exceptions = [one for head in tracebacks for one in head.chain()]
        found = self._observations.observations
        found += [observation for one in exceptions for observation in one.observations]
        tail_offset = self._next_offset - len(self._tail)
        return LogReading(
            file=self._file,
            size=self._next_offset,
            lines=self._lines + (self._tail[-1:] not in (b"", b"\n")),
            observations=tuple(sorted(found, key=lambda one: one.place.offset)),
            counts=self._observations.counts,
            tracebacks=tracebacks,
            traceback_count=self._tracebacks.count,
            unscanned=tuple(self._unscanned),
            trained_from=self._trained_from,
            tail=self._tail,
            tail_offset=tail_offset,
            progress=ProgressMarks(self._tail, tail_offset),
            different_lines=DifferentLines(self._tail, tail_offset),
            is_sampled=is_sampled,
            watchdog_reports=self._watchdogs.list_reports(),
        )

    def _skip_to(self, offset: int) -> None:
        self._scan_incomplete_line()
        self._unscanned.append((self._next_offset, offset))
        self._next_offset = offset
        self._tail = b""

    def _scan_incomplete_line(self) -> None:
        if self._incomplete_line:
            line, self._incomplete_line = self._incomplete_line, b""
            self._scan(line, self._next_offset - len(line))

    def _scan(self, raw: bytes, offset: int) -> None:
        """Read whole lines: those that a probe selects, and all while a traceback is open."""
        region = LogRegion(raw, offset, self._lines + 1)
        text = region.text
        if self._trained_from is None and (mark := PROGRESS_MARK.search(text)):
            self._trained_from = region.find_offset(text.rfind(b"\n", 0, mark.start()) + 1)
        probes = self._select_probes(text)
        selected = SelectedLines(text, [one for one in probes if one.patterns], self._is_exhausted)
        marked = SelectedLines(
            text, [one for one in probes if not one.patterns], self._is_exhausted
        )
        at = 0
        while at < len(text):
            if not self._tracebacks.is_open:
                at = min(selected.find_next(at), marked.find_next(at))
                if at == len(text):
                    break
            found = selected.take(at)
            for place, piece in region.split_line(at):
                self._read_line(piece, place, found)
            end = text.find(b"\n", at)
            at = len(text) if end < 0 else end + 1
        self._lines += raw.count(b"\n")

    def _select_probes(self, text: bytes) -> list[Probe]:
        """Return the probes that may occur in *text*, but no longer all of the exhausted ones.

        A filter is the slower the more of its strings occur, so it is made anew without them.
        """
        if self._filter is None:
            self._filter = compile_rules(self._rules).line_probes  # at the first line, not before
        selected = self._filter.select_in_lines(text)
        self._wasted += sum(one in self._exhausted for one in selected)
        if self._wasted >= _MUCH_WASTED:
            self._wasted = 0
            left = [one for one in self._filter.probes if one not in self._exhausted]
            self._filter = ProbeFilter(left)
        return selected

    def _is_exhausted(self, probe: Probe) -> bool:
        """True when only the log's end is searched for more of *probe*, from now on."""
        if probe in self._exhausted:
            return True
        if probe.patterns:
            is_exhausted = self._quota.is_spent(probe) or all(
                map(self._observations.is_exhausted, probe.patterns)
            )
        else:
            is_exhausted = self._tracebacks.is_full
        if is_exhausted:
            self._exhausted.add(probe)
            if probe.has_benign:
                self._exhausted_benign.append(probe)
        return is_exhausted

    def _read_line(self, piece: bytes, place: LinePosition, probes: list[Probe]) -> None:
        """Read a line that *probes* select; benign patterns count here even when exhausted."""
        self._quota.count(probes, len(piece))
        silent = [one for one in self._exhausted_benign if one.occurs_in(piece)]
        line = strip_prefixes(piece)
        matches = match_patterns([*probes, *silent], line.text, in_exception=False)
        is_benign = any(pattern.role is Role.BENIGN for pattern, _ in matches)
        part = self._tracebacks.feed(line, place, is_benign=is_benign)
        if part in (TracebackPart.SOURCE, TracebackPart.EXCEPTION):
            return
        found = [
            make_observation(pattern, match, line, self._file, place) for pattern, match in matches
        ]
        self._watchdogs.add(found)
        if part is TracebackPart.MESSAGE:
            self._observations.hold(line.stream, found)
        else:
            self._observations.add(found)

    def _observe_exception(self, text: str, exception: Traceback) -> tuple[Observation, ...]:
        """Return the observations in the *text* of an exception, and count them."""
        line = PrefixedLine(text, exception.rank, exception.stream)
        first_line = f"{exception.type}: {exception.message}"
        found = tuple(
            make_observation(pattern, match, line, self._file, exception.end)
            for pattern, match in compile_rules(self._rules).match_exception(text, exception.places)
            # A shell reports the signal of a process in a line of its own, after the first.
            if pattern.cause not in SIGNAL_CAUSES or match.start() < len(first_line)
        )
        self._observations.add_exception(exception.stream, found)
        return found

    def _has_left_out(self) -> bool:
        """Return whether anything is exhausted, and so may occur in lines that were not read."""
        found = [probe for probe in self._quota.probes if self._is_exhausted(probe)]
        return bool(found) or self._tracebacks.is_full

    def _read_tail_again(self) -> tuple[Traceback, ...]:
        """Read the log's last lines for what was no longer searched; return all exceptions."""
        begin = find_last_lines(self._tail, _TAIL_LINES)
        if not begin and len(self._tail) < self._next_offset:  # it begins inside a line
            ends = (self._tail.find(b"\n"), self._tail.find(b"\r"), len(self._tail) - 1)
            begin = min(end for end in ends if end >= 0) + 1
        line = self._lines - self._tail.count(b"\n", begin) + 1
        start = LinePosition(line, self._next_offset - len(self._tail) + begin)
        again = Scanner(self._rules, self._file, start=start, limit=sys.maxsize)
        again.feed(self._tail[begin:], start.offset)
        later = again.finish().tracebacks
        exhausted = {pattern.id for one in self._exhausted for pattern in one.patterns}
        found = again._observations.observations
        self._observations.extend(one for one in found if one.pattern.id in exhausted)
        earlier = self._tracebacks.found
        return merge_tracebacks(earlier, later) if self._tracebacks.is_full else earlier


def compile_ahead(rules: RuleSet) -> None:
    """Compile what the first scan with *rules* would compile, and the first exception in it."""
    compile_rules(rules).compile()
    scanner = Scanner(rules, "")
    scanner.feed(_EXCEPTION, 0)
    scanner.finish()


def scan_file(path: str | os.PathLike[str], rules: RuleSet) -> LogReading:
    """Return the reading of a whole log on disk, read once.  Raises :class:`OSError`."""
    scanner = Scanner(rules, os.path.basename(path))
    offset = 0
    with open(path, "rb", buffering=0) as log:
        while data := log.read(CHUNK_BYTES):
            scanner.feed(data, offset)
            offset += len(data)
    return scanner.finish()
