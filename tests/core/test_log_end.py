"""Tests of the end of a log, read with bounded memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.record.log_end import read_end, read_last_line

MOST = 1 << 20


@pytest.mark.parametrize(
    ("content", "last", "not_blank"),
    [
        (b"", b"", b""),
        (b"one", b"one", b"one"),
        (b"one\ntwo\n", b"two", b"two"),
        (b"one\n\n", b"", b"one"),
        (b"one  \n \t\n\n", b"", b"one"),
        (b"one\n" + b"\n" * 200_000, b"", b"one"),
        (b"one\n" + b"x" * 200_000, b"x" * 200_000, b"x" * 200_000),
        (b"x" * (MOST + 5), b"x" * MOST, b"x" * MOST),
    ],
)
def test_last_line(tmp_path: Path, content: bytes, last: bytes, not_blank: bytes) -> None:
    """The last line is read whole up to the limit, with or without blank lines at the end."""
    log = tmp_path / "output.log"
    log.write_bytes(content)
    with log.open("rb") as file:
        assert read_last_line(file, MOST) == last
        assert read_last_line(file, MOST, skip_blank=True) == not_blank


def test_end_of_file(tmp_path: Path) -> None:
    """The end comes with the offset at which it begins."""
    log = tmp_path / "output.log"
    log.write_bytes(b"0123456789")
    with log.open("rb") as file:
        assert read_end(file, 4) == (b"6789", 6)
        assert read_end(file, 40) == (b"0123456789", 0)
