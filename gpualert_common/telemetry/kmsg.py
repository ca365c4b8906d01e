"""Records of ``/dev/kmsg``, the kernel's log; each read returns one.

A record reads ``PREFIX,SEQUENCE,MICROSECONDS,FLAGS;TEXT``; properties from the device model follow
on further lines.  The prefix is ``8 * facility + level``: messages of the kernel have facility 0,
text that a process writes into the device has another.  Bytes that are not printable appear as
``\\xNN``, so the name of a process cannot start a record or a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

RECORD_BYTES = 8192
"""The maximum length of a record; the kernel returns only whole records."""

KERNEL_FACILITY = 0
"""The facility of the kernel's own messages."""

_MOST_DIGITS = 20
_ESCAPE = re.compile(rb"\\x([0-9a-f]{2})")


class KmsgRecord(NamedTuple):
    """One record: ``at_s`` is in seconds of the kernel's clock, which starts near the boot."""

    facility: int
    level: int
    sequence: int
    at_s: float
    text: str


def parse_record(data: bytes) -> KmsgRecord | None:
    """Return the record; None if the data is not one.  Invalid UTF-8 in its text is replaced."""
    head, separator, body = data.partition(b";")
    fields = head.split(b",")
    if not separator or len(fields) < 3 or not all(map(_is_number, fields[:3])):
        return None
    prefix, sequence, microseconds = map(int, fields[:3])
    line = body.partition(b"\n")[0]
    text = _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), line)
    shown = text.decode("utf-8", "replace")
    return KmsgRecord(prefix >> 3, prefix & 7, sequence, microseconds / 1e6, shown)


def _is_number(field: bytes) -> bool:
    return field.isdigit() and len(field) <= _MOST_DIGITS


class KmsgReader:
    """Reader that continues after its last record.  ``lost`` counts records overwritten unread."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._next: int | None = None
        self.lost = 0

    def read_records(self) -> Iterator[KmsgRecord]:
        """Yield the available records.  Raises OSError when the log can no longer be read."""
        while True:
            try:
                data = self._read()
            except BlockingIOError:
                return
            except BrokenPipeError:
                continue  # overwritten meanwhile; the next read returns the oldest record left
            if not data:
                return
            record = parse_record(data)
            if record is None:
                continue
            if self._next is not None:
                self.lost += max(0, record.sequence - self._next)
            self._next = record.sequence + 1
            yield record
