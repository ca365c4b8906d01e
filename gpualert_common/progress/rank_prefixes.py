"""Whose line it is: by what launchers write in front of the lines of each rank."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.classify.lines import LinePosition, LogRegion, canonicalize
from gpualert_common.regex import compile_bytes

_LEAST_PREFIX = len(b"[rank0]:")
_RANK_WITHIN = compile_bytes(rb"\[(?:rank|default)\d{1,6}\]:")
_NO_HOST = compile_bytes(rb"^ *(?i:step|epoch|iter|iteration|batch|update)\d+: ")
"""What a launcher's prefix with a host's name looks like, and is none."""

_HEAD_BYTES = 200


class RankLine(NamedTuple):
    """What one rank wrote: ``stream`` is "" where no prefix tells the rank."""

    stream: str
    text: bytes


def said(piece: bytes) -> RankLine:
    """*piece* without its prefixes."""
    line = strip_prefixes(piece)
    if line.stream.startswith("host") and _NO_HOST.search(piece):
        return RankLine("", piece)
    return RankLine(line.stream, line.text.encode())


def by_rank(piece: bytes) -> Iterator[bytes]:
    """*piece*, or what each rank wrote of it: ranks write into each other's lines."""
    begins = [0]
    if b"]:" in piece[_LEAST_PREFIX:]:
        begins += [found.start() for found in _RANK_WITHIN.finditer(piece)]
    for begin, end in pairwise([*dict.fromkeys(begins), len(piece)]):
        yield piece[begin:end]


class RankPrefixes:
    """What lines begin with that carriage returns divide, as bars do: most launchers write their
    prefix but once for each of them.
    """

    def __init__(self) -> None:
        self._line = 0
        self._head = b""
        self._known = (0, "")

    def begin(self, region: LogRegion, line: int) -> None:
        """*region* comes next; it begins in the line of this number, at its start or within it."""
        if line != self._line:
            self._line, self._head = line, region.raw[:_HEAD_BYTES]

    def end(self, region: LogRegion, line: int) -> None:
        """Of *region* all was looked at; its end lies in the line of this number."""
        if line != self._line:
            begin = region.raw.rfind(b"\n") + 1
            if begin < len(region.raw):
                self._line, self._head = line, region.raw[begin : begin + _HEAD_BYTES]

    def stream_of(self, region: LogRegion, place: LinePosition) -> str:
        """The stream that the head of the line of *place* tells."""
        if self._known[0] != place.line:
            at = place.offset - region.find_offset(0)
            begin = region.raw.rfind(b"\n", 0, at) + 1
            head = region.raw[begin : begin + _HEAD_BYTES] if begin else self._head
            behind = (
                canonicalize(head.partition(b"\r")[0]) + b"x"
            )  # some are sought before a letter
            self._known = (place.line, said(behind).stream)
        return self._known[1]
