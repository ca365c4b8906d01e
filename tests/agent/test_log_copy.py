"""The copy of a growing file into a record: continued, bounded, and never out of step."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.agent.log_copy import EARLIER_BYTES, LAST_BYTES, MOST_BYTES, POSITION, LogCopy
from gpualert_common.agent.output_files import OutputFile
from gpualert_common.record import EVENTS, Record

LINE = b"step 1 loss 0.5\n"


class Copied:
    """A file, and a record that has a copy of it."""

    def __init__(self, home: Path) -> None:
        self.source = home / "train.log"
        self.source.touch()
        self.record = Record.create(str(home / "run"), sync=False)
        self.log = Path(self.record.log_path("output.log"))
        self._made: list[LogCopy] = []

    def start(self) -> LogCopy:
        """Return a copy that begins, or continues."""
        file = OutputFile("output.log", os.open(self.source, os.O_RDONLY), str(self.source))
        target = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._made.append(LogCopy(self.record, file, target))
        return self._made[-1]

    def write(self, data: bytes) -> None:
        """Append to the file."""
        with open(self.source, "ab") as file:
            file.write(data)

    def positions(self) -> list[tuple[object, object]]:
        """Return the places in file and log of each jump."""
        events = [one.fields for one in self.record.events() if one.name == POSITION]
        return [(one["file_byte"], one["log_byte"]) for one in events]

    def close(self) -> None:
        """Close all files."""
        for copy in self._made:
            copy.close()
        self.record.close()


@pytest.fixture
def copied(tmp_path: Path) -> Iterator[Copied]:
    """An empty file and its record."""
    found = Copied(tmp_path)
    yield found
    found.close()


def test_growth(copied: Copied) -> None:
    """Bytes are copied as they are, and the log has the time of the output."""
    copy = copied.start()
    data = b"\xff\0 no text \r" + LINE
    copied.write(data)
    os.utime(copied.source, (1000.0, 2000.0))
    copy.copy()
    assert copied.log.read_bytes() == data
    assert copied.log.stat().st_mtime == 2000.0
    copy.copy()
    assert copied.log.read_bytes() == data
    assert copied.positions() == [(0, 0)]


def test_begin_of_a_long_file(copied: Copied) -> None:
    """A copy begins with the first whole line of the end of the file."""
    copied.write(LINE * (EARLIER_BYTES // len(LINE) + 1000))
    copy = copied.start()
    copy.copy()
    copy.copy()
    copy.copy()
    size = copied.log.stat().st_size
    assert EARLIER_BYTES - len(LINE) <= size <= EARLIER_BYTES
    assert size % len(LINE) == 0


def test_continued(copied: Copied) -> None:
    """A copy that is started again continues, also behind a truncation."""
    first = copied.start()
    copied.write(LINE)
    first.copy()
    copied.write(LINE)
    second = copied.start()
    second.copy()
    assert copied.log.read_bytes() == 2 * LINE
    copied.source.write_bytes(b"new\n")
    second.copy()
    third = copied.start()
    copied.write(b"newer\n")
    third.copy()
    assert copied.log.read_bytes() == 2 * LINE + b"new\nnewer\n"


@pytest.mark.parametrize(
    "damage",
    [
        {"file_byte": "x", "log_byte": 0},
        {"file_byte": -5, "log_byte": 0},
        {"file_byte": 0, "log_byte": 1 << 60},
        {"file_byte": 1e300, "log_byte": 0},
        {},
    ],
)
def test_damaged_position(copied: Copied, damage: dict[str, object]) -> None:
    """A damaged event about the position starts the copy anew, and raises nothing."""
    copied.write(LINE)
    event = {"at": 1.0, "event": POSITION, "log": "output.log", **damage}
    (Path(copied.record.path) / EVENTS).write_text(json.dumps(event) + "\n")
    copy = copied.start()
    copy.copy()
    assert copied.log.read_bytes() == LINE
    assert copy.problem == ""


def test_truncated_again_and_again(copied: Copied) -> None:
    """A program that truncates its log all the time fills no record with events."""
    copy = copied.start()
    for _time in range(300):
        copied.source.write_bytes(LINE)
        copy.copy()
        copied.source.write_bytes(b"")
        copy.copy()
    assert len(copied.positions()) == 100


def test_end_of_a_long_file(copied: Copied) -> None:
    """At the end, a copy that is far behind leaves out the middle."""
    copy = copied.start()
    copied.write(LINE * (2 * LAST_BYTES // len(LINE)))
    copied.write(b"the end\n")
    copy.copy(is_last=True)
    assert copied.log.stat().st_size <= LAST_BYTES
    assert copied.log.read_bytes().endswith(b"the end\n")


@pytest.mark.nightly
def test_limit(copied: Copied) -> None:
    """No more than the limit is copied, and at the end the last bytes."""
    with open(copied.source, "wb") as file:
        copy = copied.start()
        copy.copy()
        file.truncate(MOST_BYTES + 5 * LAST_BYTES)
    size = -1
    while size != copied.log.stat().st_size:
        size = copied.log.stat().st_size
        copy.copy()
    assert MOST_BYTES <= size < MOST_BYTES + (1 << 20)
    copied.write(b"the end\n")
    copy.copy(is_last=True)
    assert copied.log.stat().st_size <= size + LAST_BYTES
    with open(copied.log, "rb") as file:
        file.seek(-8, os.SEEK_END)
        assert file.read() == b"the end\n"
