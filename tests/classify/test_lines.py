"""Lines: their stripped prefixes, and their positions in the file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.classify.lines import LINE_CAP, LogRegion, canonicalize

_PREFIXED = [
    ("[rank0]: KeyError: 'x'", 0, "KeyError: 'x'"),
    ("[default1]:KeyError: 'x'", 1, "KeyError: 'x'"),
    ("3: KeyError: 'x'", 3, "KeyError: 'x'"),
    (' 12:   File "a.py", line 1, in f', 12, '  File "a.py", line 1, in f'),
    ("[1,2]<stderr>:KeyError: 'x'", 2, "KeyError: 'x'"),
    ("(train_fn pid=71, ip=10.0.0.2) KeyError: 'x'", None, "KeyError: 'x'"),
    ("2026-11-20T10:00:00.123Z KeyError: 'x'", None, "KeyError: 'x'"),
    ("[2026-11-20 10:00:00,123] KeyError: 'x'", None, "KeyError: 'x'"),
    ("E1120 10:00:00.123456 812 torch/api.py:984] failed", None, "failed"),
    ("[rank1]:[E1120 10:00:00.1 ProcessGroupNCCL.cpp:616] timed out", 1, "timed out"),
    ("[ 5123.482910] Out of memory", None, "Out of memory"),
    ('[rank2]:   File "a.py", line 1, in f', 2, '  File "a.py", line 1, in f'),
]


@pytest.mark.parametrize(("line", "rank", "text"), _PREFIXED, ids=[row[0] for row in _PREFIXED])
def test_prefix(line: str, rank: int | None, text: str) -> None:
    """A launcher's prefix gives the rank and leaves the text with its indentation."""
    found = strip_prefixes(line.encode())
    assert (found.rank, found.text) == (rank, text)


@pytest.mark.parametrize(
    "line", ["step 3: loss 0.1", "12:30 was the time", "[info] ready", "ERROR:root:x"]
)
def test_text_that_resembles_a_prefix(line: str) -> None:
    """Ordinary text is unchanged."""
    assert strip_prefixes(line.encode()).text == line


def test_streams_differ_by_process() -> None:
    """Lines of different processes are different streams; times do not matter."""
    streams = {
        strip_prefixes(line).stream
        for line in (b"[rank0]: a", b"[rank1]: a", b"2026-11-20 10:00:00 [rank0]: b", b"a")
    }
    assert len(streams) == 3


@given(st.binary(max_size=300))
def test_any_bytes_are_a_line(piece: bytes) -> None:
    """Any bytes can be normalised."""
    strip_prefixes(canonicalize(piece))


def test_escape_sequences_are_gone() -> None:
    """Colours, titles and cursor movements leave only the text; a carriage return ends a line."""
    raw = b"\x1b[31mred\x1b[0m\x1b]0;title\x07 \x1b[2K\x1b[1Aend\rnext\n"
    assert canonicalize(raw) == b"red end\nnext\n"


@given(st.text(alphabet="ab\x1b[m3;\r\n", max_size=200))
def test_canonical_keeps_the_number_of_lines(text: str) -> None:
    """The number of lines is unchanged, with any escape sequences."""
    raw = text.encode()
    assert canonicalize(raw).count(b"\n") == raw.count(b"\n") + raw.count(b"\r")


def test_places_behind_escape_sequences_are_those_of_the_file() -> None:
    """Offset and line number are those of the raw bytes, and numbers count newlines only."""
    raw = b"\x1b[1mone\x1b[0m\nbar 1\rbar 2\r\n\x1b[31mthree\n"
    region = LogRegion(raw, offset=100, line=7)
    starts = [0, region.text.index(b"bar 2"), region.text.index(b"three")]
    places = [next(region.split_line(start))[0] for start in starts]
    assert [place.line for place in places] == [7, 8, 9]
    assert [raw[place.offset - 100 :][:5] for place in places] == [
        b"\x1b[1mo",
        b"bar 2",
        b"\x1b[31m",
    ]


def test_a_long_line_comes_in_pieces() -> None:
    """Of a line without an end each piece has the line's number and its own offset."""
    region = LogRegion(b"x" * (2 * LINE_CAP + 5), offset=0, line=1)
    pieces = list(region.split_line(0))
    assert [(place.line, place.offset, len(piece)) for place, piece in pieces] == [
        (1, 0, LINE_CAP),
        (1, LINE_CAP, LINE_CAP),
        (1, 2 * LINE_CAP, 5),
    ]
