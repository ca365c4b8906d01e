"""Rank of a line, from the prefix that launchers write."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.classify.lines import LinePosition, LogRegion, canonicalize
from gpualert_common.regex import compile_bytes

_LEAST_PREFIX = len(b"[rank0]:")
_RANK_WITHIN = compile_bytes(rb"\[(?:rank|default)\d{1,6}\]:")
_STEP_LABEL = compile_bytes(rb"^ *(?i:step|epoch|iter|iteration|batch|update)\d+: ")
"""Text that looks like a launcher's prefix with a host name but is not one."""

_HEAD_BYTES = 200


class RankLine(NamedTuple):
    """Text of one rank; ``stream`` is empty without a prefix."""

    stream: str
    text: bytes


def split_prefix(piece: bytes) -> RankLine:
    """Return the rank and the text of *piece* without its prefixes."""
    line = strip_prefixes(piece)
    if line.stream.startswith("host") and _STEP_LABEL.search(piece):
        return RankLine("", piece)
    return RankLine(line.stream, line.text.encode())


def split_by_rank(piece: bytes) -> Iterator[bytes]:
    """Yield the part of each rank in *piece*: ranks can write into the same line."""
    begins = [0]
    if b"]:" in piece[_LEAST_PREFIX:]:
        begins += [found.start() for found in _RANK_WITHIN.finditer(piece)]
    for begin, end in pairwise([*dict.fromkeys(begins), len(piece)]):
        yield piece[begin:end]


class RankPrefixes:
    """Prefixes of lines that contain carriage returns, such as bars.

    Most launchers write their prefix once for such a line, not for each part.
    """

    def __init__(self) -> None:
        self._line = 0
        self._head = b""
        self._known = (0, "")

    def begin_region(self, region: LogRegion, line: int) -> None:
        """Prepare for *region*, which begins at or within the line of this number."""
        if line != self._line:
            self._line, self._head = line, region.raw[:_HEAD_BYTES]

    def end_region(self, region: LogRegion, line: int) -> None:
        """Remember the start of the last line of *region*, which has this number."""
        if line != self._line:
            begin = region.raw.rfind(b"\n") + 1
            if begin < len(region.raw):
                self._line, self._head = line, region.raw[begin : begin + _HEAD_BYTES]

    def find_stream(self, region: LogRegion, place: LinePosition) -> str:
        """Return the stream at the start of the line of *place*."""
        if self._known[0] != place.line:
            at = place.offset - region.find_offset(0)
            begin = region.raw.rfind(b"\n", 0, at) + 1
            head = region.raw[begin : begin + _HEAD_BYTES] if begin else self._head
            head_text = (
                canonicalize(head.partition(b"\r")[0]) + b"x"
            )  # some patterns need a letter after the prefix
            self._known = (place.line, split_prefix(head_text).stream)
        return self._known[1]
