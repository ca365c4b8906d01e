"""Reading a log once, forward, in bounded memory: from bytes to observations and tracebacks.

How a log is cut into calls of :meth:`Scanner.feed` never changes the result: only whole lines are
looked at, and a line too long is cut at fixed distances from its start.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gpualert_common.causes import SIGNALLED
from gpualert_common.classify.lines import LINE_CAP, Place, Region
from gpualert_common.classify.observations import Observation, observed
from gpualert_common.classify.prefixes import Line, normalise
from gpualert_common.classify.program import Probe, Program, latin1_regex, matches_of, program_of
from gpualert_common.classify.raised import Part, Traceback
from gpualert_common.classify.rules import RuleSet
from gpualert_common.classify.tracebacks import MANY, TracebackParser, merged
from gpualert_common.model import Role

CHUNK_BYTES = 256 << 10
"""What a caller best feeds at a time when it has a lot."""

TAIL_BYTES = 64 << 10
"""How much of the log's end a reading keeps, for what is known only once the log has ended."""

_BEGINNING = Place(line=1, offset=0)
_FIRST_KEPT = 4
_LAST_KEPT = 4

PROGRESS: Final = latin1_regex(
    rb"\b(?:global_?|Global_?)?(?:[Ss]tep|[Ii]ter(?:ation)?|[Ee]poch|[Bb]atch|[Uu]pdate|EPOCH)s?\b"
    rb"[ :=#\[(]{0,3}(\d{1,12})"
    rb"|\b(\d{1,9})/\d{1,9} \[\d+:\d\d"
    rb"|['\"]epoch['\"]: ['\"]?([\d.]{1,16})"
)
"""A line of training that went on; a group holds how far."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of one log file.

    ``observations`` holds the first and the last few of each pattern, in the order of the file;
    ``counts`` how often each was seen (by pattern id; :data:`MANY` means that or more); those in
    the text of an exception are also among its own.  ``tracebacks`` are the heads of chains.
    ``unscanned`` are byte ranges never seen; ``trained_from`` is the offset at which progress was
    first reported, None if never.  ``progress`` are places in the tail where it was reported:
    offset, and how many different steps were told from there on.
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
    progress: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class _Seen:
    """Occurrences of one pattern: the first few, the last few, and how many."""

    first: list[Observation] = field(default_factory=list)
    last: deque[Observation] = field(default_factory=lambda: deque(maxlen=_LAST_KEPT))
    count: int = 0

    def add(self, observation: Observation) -> None:
        self.count += 1
        if len(self.first) < _FIRST_KEPT:
            self.first.append(observation)
        else:
            self.last.append(observation)


class Scanner:
    """Reads one log.  Not thread-safe; feed it from one thread, in the order of the file."""

    def __init__(
        self, rules: RuleSet, file: str, *, start: Place = _BEGINNING, limit: int = MANY
    ) -> None:
        """Read from *start* on; look for a pattern only until it was seen *limit* times."""
        self._rules = rules
        self._file = file
        self._limit = limit
        self._carry = b""
        self._next = start.offset
        self._lines = start.line - 1
        self._tail = b""
        self._seen: dict[str, _Seen] = {}
        self._tracebacks = TracebackParser(file, self._recognise, limit)
        self._held: dict[str, list[Observation]] = {}
        self._named: Counter[str] = Counter()
        self._unscanned: list[tuple[int, int]] = []
        self._trained_from: int | None = None

    @property
    def _program(self) -> Program:
        return program_of(self._rules)  # made when there is something to read

    def feed(self, data: bytes, offset: int) -> None:
        """Take the bytes at *offset*.  Never raises for what they are.

        Bytes already fed are skipped; a gap is remembered as not scanned, and the line before it
        ends there.
        """
        if offset < self._next:
            data = data[self._next - offset :]
        elif offset > self._next:
            self._flush()
            self._unscanned.append((self._next, offset))
            self._next = offset
            self._tail = b""
        if not data:
            return
        block = self._carry + data if self._carry else data
        start = self._next - len(self._carry)
        self._next += len(data)
        self._tail = data[-TAIL_BYTES:] if len(data) >= TAIL_BYTES else self._grown_tail(data)
        end = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        end += (len(block) - end) // LINE_CAP * LINE_CAP
        self._carry = block[end:]
        if end:
            self._scan(block[:end] if end < len(block) else block, start)

    def finish(self) -> Reading:
        """All that was read; the last line counts also without an end.  Call it once, last."""
        self._flush()
        self._tracebacks.close()
        lines = self._lines + (self._tail[-1:] not in (b"", b"\n"))
        tracebacks = self._tracebacks.found
        if self._saturated:
            tail = self._tail_reading()
            for one in tail.observations:
                seen = self._seen.get(one.pattern.id)
                if seen is not None and self._enough(seen) and one.place > seen.last[-1].place:
                    seen.last.append(one)
            if self._tracebacks.many:
                tracebacks = merged(tracebacks, tail.tracebacks)
        found = [entry for one in self._seen.values() for entry in (*one.first, *one.last)]
        members = [member for head in tracebacks for member in head.chain()]
        found += [entry for member in members for entry in member.observations]
        counts = self._named.copy()
        counts.update({pattern_id: one.count for pattern_id, one in self._seen.items()})
        return Reading(
            file=self._file,
            size=self._next,
            lines=lines,
            observations=tuple(sorted(found, key=lambda entry: entry.place.offset)),
            counts=dict(counts),
            tracebacks=tracebacks,
            traceback_count=self._tracebacks.count,
            unscanned=tuple(self._unscanned),
            trained_from=self._trained_from,
            tail=self._tail,
            tail_offset=self._next - len(self._tail),
            progress=_progress(self._tail, self._next - len(self._tail)),
        )

    def _grown_tail(self, data: bytes) -> bytes:
        return (self._tail + data)[-TAIL_BYTES:]

    def _flush(self) -> None:
        if self._carry:
            rest, self._carry = self._carry, b""
            self._scan(rest, self._next - len(rest))

    def _scan(self, raw: bytes, offset: int) -> None:
        """Look at whole lines: those with a hit, and all while a traceback is open."""
        region = Region(raw, offset, self._lines + 1)
        text = region.text
        if self._trained_from is None and (progress := PROGRESS.search(text)):
            start = text.rfind(b"\n", 0, progress.start()) + 1
            self._trained_from = region.offset_of(start)
        hits = self._hits(text)
        starts = sorted(hits)
        at, index = 0, 0
        while at < len(text):
            if not self._tracebacks.open:
                while index < len(starts) and starts[index] < at:
                    index += 1
                if index == len(starts):
                    break
                at = starts[index]
            for place, piece in region.pieces(at):
                self._look(piece, place, hits.get(at, []))
            end = text.find(b"\n", at)
            at = len(text) if end < 0 else end + 1
        self._lines += raw.count(b"\n")

    def _hits(self, text: bytes) -> dict[int, list[Probe]]:
        hits: dict[int, list[Probe]] = {}
        for probe in self._program.of_lines.may_occur(text):
            if self._exhausted(probe):
                continue
            for start in probe.line_starts(text):
                hits.setdefault(start, []).append(probe)
        return hits

    def _look(self, piece: bytes, place: Place, probes: list[Probe]) -> None:
        line = normalise(piece)
        found = matches_of(probes, line.text, in_exception=False)
        benign = any(pattern.role is Role.BENIGN for pattern, _ in found)
        part = self._tracebacks.feed(line, place, benign=benign)
        if part in (Part.SOURCE, Part.EXCEPTION):
            return
        seen = [observed(pattern, match, line, self._file, place) for pattern, match in found]
        if part is Part.MESSAGE:
            self._held.setdefault(line.stream, []).extend(seen)
        else:
            self._add(seen)

    def _add(self, observations: Iterable[Observation]) -> None:
        for one in observations:
            seen = self._seen.setdefault(one.pattern.id, _Seen())
            if not self._enough(seen):
                seen.add(one)

    def _recognise(self, text: str, found: Traceback) -> tuple[Observation, ...]:
        """What the patterns see in the *text* of the exception *found*.

        Lines of its message that say the same are not counted once more; what else they say
        stands for itself.
        """
        line = Line(text, found.rank, found.stream)
        matches = self._program.in_exception(text, found.places)
        # What a shell says of a signal belongs to the process, not to what it said before.
        own = f"{found.type}: {found.message}"
        matches = [
            (one, match)
            for one, match in matches
            if one.cause not in SIGNALLED or match.start() < len(own)
        ]
        seen = tuple(
            observed(pattern, match, line, self._file, found.end) for pattern, match in matches
        )
        self._named.update(one.pattern.id for one in seen)
        said = {one.pattern.id for one in seen}
        held = self._held.pop(found.stream, [])
        self._add(one for one in held if one.pattern.id not in said)
        return seen

    def _exhausted(self, probe: Probe) -> bool:
        """True when *probe* was seen so often that only the log's end is searched for more.

        What takes lines out of account is looked for to the end.
        """
        if not probe.patterns:
            return self._tracebacks.many
        return all(
            pattern.role is not Role.BENIGN
            and pattern.id in self._seen
            and self._enough(self._seen[pattern.id])
            for pattern in probe.patterns
        )

    def _enough(self, seen: _Seen) -> bool:
        return seen.count >= self._limit

    @property
    def _saturated(self) -> bool:
        return self._tracebacks.many or any(map(self._enough, self._seen.values()))

    def _tail_reading(self) -> Reading:
        """The log's end read again, for patterns that were no longer looked for."""
        begin = 0
        if len(self._tail) < self._next:  # it begins inside a line
            ends = (self._tail.find(b"\n"), self._tail.find(b"\r"), len(self._tail) - 1)
            begin = min(end for end in ends if end >= 0) + 1
        start = Place(
            self._lines - self._tail.count(b"\n", begin) + 1, self._next - len(self._tail) + begin
        )
        again = Scanner(self._rules, self._file, start=start, limit=sys.maxsize)
        again.feed(self._tail[begin:], start.offset)
        return again.finish()


def _progress(tail: bytes, offset: int) -> tuple[tuple[int, int], ...]:
    different: set[tuple[str | None, ...]] = set()
    found = []
    for match in reversed(list(PROGRESS.finditer(tail))):
        different.add(match.groups())
        found.append((offset + match.start(), len(different)))
    return tuple(reversed(found))


def scan_file(path: str | os.PathLike[str], rules: RuleSet) -> Reading:
    """The reading of a whole log on disk, read once.  Raises :class:`OSError`."""
    scanner = Scanner(rules, os.path.basename(path))
    offset = 0
    with open(path, "rb", buffering=0) as log:
        while data := log.read(CHUNK_BYTES):
            scanner.feed(data, offset)
            offset += len(data)
    return scanner.finish()
