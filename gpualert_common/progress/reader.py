"""Reading a log once, forward, in bounded memory and time: from bytes to a training's progress.

How a log is cut into calls of :meth:`ProgressReader.feed` never changes the result: only whole
lines are looked at, a line too long is cut at fixed distances from its start, and what is passed
over in a flood depends on the lines before it alone.

**Floods.**  Of lines that tell of steps, and of progress bars, the first :data:`DENSE_LINES` are
read, and then the first few of each 64 KiB.  Lines of rare kinds (checkpoints, where the
training begins and how it ends, the header of an epoch, a loss that is not finite) are read to the
end, up to a bound for each 64 KiB that only a flood of them reaches; and so are the last lines
of any log, :data:`TAIL_LINES` in :data:`TAIL_BYTES` at the most.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from enum import IntEnum
from functools import cache
from typing import Any

from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.classify.lines import LINE_CAP, LinePosition, LogRegion
from gpualert_common.progress.bars import bar_in
from gpualert_common.progress.formats._interface import ProgressLine, load_parsers
from gpualert_common.progress.model import Progress
from gpualert_common.progress.rank_prefixes import RankPrefixes, by_rank, said
from gpualert_common.progress.stream import Interests, Stream
from gpualert_common.progress.summary import conclude
from gpualert_common.regex import compile_bytes

DENSE_LINES = 2_000
"""Of a kind of line, read before a log counts as a flood of it; they cost 0.2 s of a core."""

BLOCK_BYTES = 64 << 10
TAIL_BYTES = 64 << 10
TAIL_LINES = 1_000
_MOST_STREAMS = 16


class _Kind(IntEnum):
    """What a line is looked at for; the number is the group in the search for all of them."""

    RARE = 1
    BAR = 2
    STEP = 3


_PER_BLOCK = {_Kind.RARE: 16, _Kind.BAR: 2, _Kind.STEP: 4}
_ALL = frozenset(_Kind)
_BAR = rb"\| [\d.]+[kMG]?/[\d.?]+[kMG]? \[\d"
_NOT_FINITE = rb"(?i:loss|grad.?norm)[\"']?[ :=]{1,4}[\"']?-?(?i:nan|inf)"
_NOTHING = rb"[^\x00-\xff]"


class ProgressReader:
    """Reads one log.  Not thread-safe; feed it from one thread, in the order of the file."""

    def __init__(self, log_name: str) -> None:
        self._name = log_name
        self._streams: dict[str, Stream] = {}
        self._held = b""
        self._next = 0
        self._lines = 0
        self._unread = 0
        self._seen = dict.fromkeys(_Kind, 0)
        self._block = 0
        self._in_block = dict.fromkeys(_Kind, 0)
        self._heads = RankPrefixes()

    def feed(self, data: bytes, offset: int, line: int | None = None) -> None:
        """Take the bytes at *offset*.  Never raises for what they are.

        Bytes already fed are skipped; a gap ends the line before it, and *line* says which one it
        ends in: without it lines behind are counted as if there were none in the gap.
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
        limit = max(0, len(held) - TAIL_BYTES)
        end = max(held.rfind(b"\n", 0, limit), held.rfind(b"\r", 0, limit)) + 1
        end += (limit - end) // LINE_CAP * LINE_CAP
        self._held = held[end:]
        self._read(held[:end], start)

    def progress(self) -> Progress:
        """What was read so far, as if the log ended here; reading may go on."""
        other = ProgressReader(self._name)
        other.__dict__.update(self.__dict__)
        other._streams = {name: stream.copy() for name, stream in self._streams.items()}
        other._seen = self._seen.copy()
        other._in_block = self._in_block.copy()
        other._heads = copy(self._heads)
        return other.finish()

    def finish(self) -> Progress:
        """All that was read; the last line counts also without an end.  Call it once, last."""
        held, self._held = self._held, b""
        start, last = self._next - len(held), _last_lines(held, TAIL_LINES)
        self._read(held[:last], start)
        self._seen = dict.fromkeys(_Kind, 0)  # the end is read whatever came before it
        self._read(held[last:], start + last)
        for stream in self._streams.values():
            stream.finish()
        return conclude(self._name, list(self._streams.values()), self._next, self._unread)

    def _read(self, raw: bytes, offset: int) -> None:
        for begin, end in _stretches(raw, offset):
            block = (offset + begin) // BLOCK_BYTES
            if block != self._block:
                self._block = block
                self._in_block = dict.fromkeys(_Kind, 0)
            region = LogRegion(raw[begin:end], offset + begin, self._lines + 1)
            self._heads.begin(region, self._lines + 1)
            self._read_stretch(region)
            self._lines += raw.count(b"\n", begin, end)
            self._heads.end(region, self._lines + 1)

    def _read_stretch(self, region: LogRegion) -> None:
        """Look at lines of one block, or at a piece of a long one."""
        text = region.text
        at, passed_from = 0, None
        while at < len(text):
            kinds = self._open_kinds()
            if kinds != _ALL and passed_from is None:
                passed_from = region.find_offset(at)
            found = _finder(kinds).search(text, at) if kinds else None
            if found is None:
                break
            kind = _Kind(found.lastindex)
            self._seen[kind] += 1
            self._in_block[kind] += 1
            for place, piece in region.split_line(text.rfind(b"\n", 0, found.start()) + 1):
                for part in by_rank(piece.replace(b"\b", b"")):  # how Keras goes back in a line
                    self._show(part, place, region)
            end = text.find(b"\n", found.start())
            at = len(text) if end < 0 else end + 1
        if passed_from is not None:
            self._unread += region.find_offset(0) + len(region.raw) - passed_from

    def _open_kinds(self) -> frozenset[_Kind]:
        """The kinds of lines that are still looked at in this block."""
        if all(seen < DENSE_LINES for seen in self._seen.values()):
            return _ALL
        return frozenset(
            kind
            for kind in _Kind
            if self._seen[kind] < DENSE_LINES or self._in_block[kind] < _PER_BLOCK[kind]
        )

    def _show(self, piece: bytes, place: LinePosition, region: LogRegion) -> None:
        name, text = said(piece)
        name = name or self._heads.stream_of(region, place)
        found = bar_in(piece)
        if found is not None:
            text = strip_prefixes(piece[found[1] :]).text.encode()
        if name not in self._streams:
            if len(self._streams) >= _MOST_STREAMS:
                return
            self._streams[name] = Stream(_interests())
        bar = None if found is None else found[0]
        self._streams[name].read(ProgressLine(text, piece, bar, self._name, place))


def _stretches(raw: bytes, offset: int) -> Iterator[tuple[int, int]]:
    """Whole lines of at most :data:`LINE_CAP` bytes that begin in one block, or one such piece of a
    line that is longer.
    """
    begin = 0
    while begin < len(raw):
        most = begin + LINE_CAP
        end = max(raw.rfind(b"\n", begin, most), raw.rfind(b"\r", begin, most)) + 1
        if end == 0:
            end = min(most, len(raw))
        elif (border := BLOCK_BYTES - (offset + begin) % BLOCK_BYTES + begin) < end:
            end = _line_begin(raw, border, end)
        yield begin, end
        begin = end


def _line_begin(raw: bytes, border: int, end: int) -> int:
    """Where the first line begins that begins at *border* or later; *end* when none does."""
    ends = (raw.find(b"\n", border - 1, end), raw.find(b"\r", border - 1, end))
    return min((one + 1 for one in ends if one >= 0), default=end)


@cache
def _interests() -> Interests:
    return Interests()


@cache
def _finder(kinds: frozenset[_Kind]) -> Any:
    """What finds a line of *kinds*; the group that matched is the kind."""
    hints = [parser.hints for parser in load_parsers().values()]
    words = {
        _Kind.RARE: [_NOT_FINITE, *(hint.rare for hint in hints if hint.rare)],
        _Kind.BAR: [_BAR],
        _Kind.STEP: [hint.steps for hint in hints if hint.steps],
    }
    groups = (b"|".join(words[kind]) if kind in kinds else _NOTHING for kind in _Kind)
    return compile_bytes(b"(?m)" + b"|".join(b"(%s)" % group for group in groups))


def _last_lines(text: bytes, count: int) -> int:
    """Where the last *count* lines of *text* begin."""
    at = len(text)
    for _line in range(count + 1):
        at = max(text.rfind(b"\n", 0, at), text.rfind(b"\r", 0, at))
        if at < 0:
            return 0
    return at + 1
