"""``/dev/kmsg``: the records of the kernel's log, one for each read.

A record reads ``PREFIX,SEQUENCE,MICROSECONDS,FLAGS;TEXT``; what the device model knows of it stands
on lines behind.  The prefix is ``8 * facility + level``: the kernel's own words have facility 0,
what a process wrote into the device has any other.  Bytes that are not printable stand in it as
``\\xNN``, so that no name of a process can begin a record, or a line, of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

RECORD_BYTES = 8192
"""No record is longer; the kernel refuses to hand one out in part."""

KERNEL_FACILITY = 0
"""The facility of what the kernel itself says."""

_MOST_DIGITS = 20
_ESCAPE = re.compile(rb"\\x([0-9a-f]{2})")


class KmsgRecord(NamedTuple):
    """One record: ``at_s`` is in seconds of the kernel's own clock, which begins near its boot."""

    facility: int
    level: int
    sequence: int
    at_s: float
    text: str


def parse_record(data: bytes) -> KmsgRecord | None:
    """The record, None where this is none.  What is not UTF-8 in its text is replaced."""
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
    """Reads on where it left off.  ``lost`` counts records that were overwritten before."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._next: int | None = None
        self.lost = 0

    def read_records(self) -> Iterator[KmsgRecord]:
        """What there is at the moment.  Raises OSError where the log can no longer be read."""
        while True:
            try:
                data = self._read()
            except BlockingIOError:
                return
            except BrokenPipeError:
                continue  # overwritten under us; the next read has the oldest record that is left
            if not data:
                return
            record = parse_record(data)
            if record is None:
                continue
            if self._next is not None:
                self.lost += max(0, record.sequence - self._next)
            self._next = record.sequence + 1
            yield record
