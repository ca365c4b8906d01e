"""Reader of one log: turns bytes into the progress of a training, in bounded memory and time.

The sizes of the calls to :meth:`ProgressReader.feed` do not change the result: the reader parses
whole lines only, cuts a long line at fixed distances from its start, and skips lines depending only
on earlier lines.

**Floods.**  Step lines and progress bars are all parsed up to the 64 KiB in which they reach
:data:`DENSE_LINES`, then the first few of each 64 KiB.  Rare lines (checkpoints, start and end of
the training, headers of epochs, losses that are not finite) are parsed to the end, up to a limit
for each 64 KiB that only a flood of them reaches.  The last :data:`TAIL_LINES` of them are always
parsed, if they are in the last :data:`TAIL_BYTES`, whatever else follows them, such as a traceback.
Only a flood is held back for that: the lines of any other log are parsed as they come, since a
verdict waits for what is left at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from enum import IntEnum
from functools import cache
from typing import Any

from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.classify.lines import LINE_CAP, LinePosition, LogRegion, find_last_lines
from gpualert_common.progress.bars import find_bar
from gpualert_common.progress.formats._interface import ProgressLine, load_parsers
from gpualert_common.progress.model import Progress
from gpualert_common.progress.rank_prefixes import RankPrefixes, split_by_rank, split_prefix
from gpualert_common.progress.stream import Interests, Stream
from gpualert_common.progress.summary import summarize_log
from gpualert_common.regex import compile_bytes

DENSE_LINES = 2_000
"""Lines of a kind parsed before they count as a flood; they take 0.2 s of CPU time."""

BLOCK_BYTES = 64 << 10
TAIL_BYTES = 64 << 10
TAIL_LINES = 20
"""Last lines of a flood, two steps of ten ranks; a verdict waits 0.1 ms for each."""
_LAST_LINES = 200
"""Lines at the end among which they are searched; a verdict waits 1 ms for all of these."""
_MOST_STREAMS = 16


class _Kind(IntEnum):
    """Kind of a line; the number is its group in the combined expression."""

    RARE = 1
    BAR = 2
    STEP = 3


_PER_BLOCK = {_Kind.RARE: 16, _Kind.BAR: 2, _Kind.STEP: 4}
_ALL = frozenset(_Kind)
_BAR = rb"\| [\d.]+[kMG]?/[\d.?]+[kMG]? \[\d"
_NOT_FINITE = rb"(?i:loss|grad.?norm)[\"']?[ :=]{1,4}[\"']?-?(?i:nan|inf)"
_NOTHING = rb"[^\x00-\xff]"


class ProgressReader:
    """Reader of one log.  Not thread-safe; feed it in the order of the file."""

    def __init__(self, log_name: str) -> None:
        self._name = log_name
        self._streams: dict[str, Stream] = {}
        self._held = b""
        self._next = 0
        self._lines = 0
        self._unread = 0
        self._line_counts = dict.fromkeys(_Kind, 0)
        self._block = 0
        self._block_counts = dict.fromkeys(_Kind, 0)
        self._dense = _ALL
        self._heads = RankPrefixes()

    def feed(self, data: bytes, offset: int, line: int | None = None) -> None:
        """Add the bytes at *offset*.  Never raises, whatever their content.

        Bytes that were fed before are skipped.  A gap ends the current line; *line* is the line
        number after the gap, by default as if the gap contained no line end.
        """
        if offset < self._next:
            data = data[self._next - offset :]
        elif offset > self._next:
            self._read(self._held, self._next - len(self._held))
            self._unread += offset - self._next
            self._next, self._held, self._heads = offset, b"", RankPrefixes()
            self._lines = self._lines if line is None else line - 1
        if not data:
            return
        held = self._held + data
        start = self._next - len(self._held)
        self._next += len(data)
        begin = _find_line_end(held, len(held) - TAIL_BYTES)
        self._read(held[:begin], start)
        for _, end in _split_spans(held[: _find_line_end(held, len(held))], start, begin):
            self._enter_block(start + begin)
            if self._dense != _ALL:
                break
            self._read(held[begin:end], start + begin)
            begin = end
        self._held = held[begin:]

    def snapshot(self) -> Progress:
        """Return the progress as if the log ended here; feeding can continue."""
        other = ProgressReader(self._name)
        other.__dict__.update(self.__dict__)
        other._streams = {name: stream.copy() for name, stream in self._streams.items()}
        other._line_counts = self._line_counts.copy()
        other._block_counts = self._block_counts.copy()
        other._heads = copy(self._heads)
        return other.finish()

    def finish(self) -> Progress:
        """Return the progress of the whole log.  Call it once, last."""
        held, self._held = self._held, b""
        start, last = self._next - len(held), _find_tail(held)
        self._read(held[:last], start)
        self._line_counts = dict.fromkeys(_Kind, 0)  # the end is parsed even after a flood
        self._dense = _ALL
        self._read(held[last:], start + last)
        for stream in self._streams.values():
            stream.finish()
        return summarize_log(self._name, list(self._streams.values()), self._next, self._unread)

    def _read(self, raw: bytes, offset: int) -> None:
        for begin, end in _split_spans(raw, offset):
            self._enter_block(offset + begin)
            region = LogRegion(raw[begin:end], offset + begin, self._lines + 1)
            self._heads.begin_region(region, self._lines + 1)
            self._read_region(region)
            self._lines += raw.count(b"\n", begin, end)
            self._heads.end_region(region, self._lines + 1)

    def _read_region(self, region: LogRegion) -> None:
        """Parse the lines of one block, or a piece of a long line."""
        text = region.text
        at, skipped_from = 0, None
        while at < len(text):
            kinds = self._select_kinds()
            if kinds != _ALL and skipped_from is None:
                skipped_from = region.find_offset(at)
            found = _compile_kinds(kinds).search(text, at) if kinds else None
            if found is None:
                break
            kind = _Kind(found.lastindex)
            self._line_counts[kind] += 1
            self._block_counts[kind] += 1
            for place, piece in region.split_line(text.rfind(b"\n", 0, found.start()) + 1):
                for part in split_by_rank(
                    piece.replace(b"\b", b"")
                ):  # Keras redraws its bar with backspaces
                    self._read_part(part, place, region)
            end = text.find(b"\n", found.start())
            at = len(text) if end < 0 else end + 1
        if skipped_from is not None:
            self._unread += region.find_offset(0) + len(region.raw) - skipped_from

    def _enter_block(self, offset: int) -> None:
        """Begin the block of *offset*; a kind that is no flood by then is all parsed in it."""
        block = offset // BLOCK_BYTES
        if block != self._block:
            self._block = block
            self._block_counts = dict.fromkeys(_Kind, 0)
            self._dense = frozenset(kind for kind in _Kind if self._line_counts[kind] < DENSE_LINES)

    def _select_kinds(self) -> frozenset[_Kind]:
        """Return the kinds of lines to parse next."""
        few = (kind for kind in _Kind if self._block_counts[kind] < _PER_BLOCK[kind])
        return self._dense if self._dense == _ALL else self._dense.union(few)

    def _read_part(self, piece: bytes, place: LinePosition, region: LogRegion) -> None:
        name, text = split_prefix(piece)
        name = name or self._heads.find_stream(region, place)
        found = find_bar(piece)
        if found is not None:
            text = strip_prefixes(piece[found[1] :]).text.encode()
        if name not in self._streams:
            if len(self._streams) >= _MOST_STREAMS:
                return
            self._streams[name] = Stream(_load_interests())
        bar = None if found is None else found[0]
        self._streams[name].read(ProgressLine(text, piece, bar, self._name, place))


def _find_tail(raw: bytes) -> int:
    """Return the start of the last lines that are parsed even after a flood."""
    begin = find_last_lines(raw, _LAST_LINES)
    region = LogRegion(raw[begin:], begin, 1)
    at, missing = len(region.text), TAIL_LINES
    while at and missing:
        end, at = at, region.text.rfind(b"\n", 0, at - 1) + 1
        if _compile_kinds(_ALL).search(region.text, at, end):
            missing -= 1
    return region.find_offset(at)


def _find_line_end(raw: bytes, limit: int) -> int:
    """Return the end of the last line that ends by *limit*, 0 for none.

    A long line has further ends at fixed distances from its start.
    """
    limit = max(0, limit)
    end = max(raw.rfind(b"\n", 0, limit), raw.rfind(b"\r", 0, limit)) + 1
    return end + (limit - end) // LINE_CAP * LINE_CAP


def _split_spans(raw: bytes, offset: int, begin: int = 0) -> Iterator[tuple[int, int]]:
    """Yield spans of whole lines that begin in one block, or of a piece of a long line.

    The first span begins at *begin*.  A span has at most :data:`LINE_CAP` bytes.
    """
    while begin < len(raw):
        most = begin + LINE_CAP
        end = max(raw.rfind(b"\n", begin, most), raw.rfind(b"\r", begin, most)) + 1
        if end == 0:
            end = min(most, len(raw))
        elif (border := BLOCK_BYTES - (offset + begin) % BLOCK_BYTES + begin) < end:
            end = _find_line_start(raw, border, end)
        yield begin, end
        begin = end


def _find_line_start(raw: bytes, border: int, end: int) -> int:
    """Return the start of the first line at *border* or later, *end* if there is none."""
    ends = (raw.find(b"\n", border - 1, end), raw.find(b"\r", border - 1, end))
    return min((one + 1 for one in ends if one >= 0), default=end)


def load_formats() -> None:
    """Load all formats now, and not with the first line of a log: it takes 15 ms."""
    _load_interests()
    _compile_kinds(_ALL)


@cache
def _load_interests() -> Interests:
    return Interests()


@cache
def _compile_kinds(kinds: frozenset[_Kind]) -> Any:
    """Return an expression for lines of *kinds*; the matching group is the kind."""
    hints = [parser.hints for parser in load_parsers().values()]
    words = {
        _Kind.RARE: [_NOT_FINITE, *(hint.rare for hint in hints if hint.rare)],
        _Kind.BAR: [_BAR],
        _Kind.STEP: [hint.steps for hint in hints if hint.steps],
    }
    groups = (b"|".join(words[kind]) if kind in kinds else _NOTHING for kind in _Kind)
    return compile_bytes(b"(?m)" + b"|".join(b"(%s)" % group for group in groups))
