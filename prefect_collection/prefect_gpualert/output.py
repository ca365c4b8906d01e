"""Lines of a training's log, read with bounded memory."""

from __future__ import annotations

from gpualert_common.record import Record
from gpualert_common.record.log_end import read_end, read_last_line

_LAST_LINE_BYTES = 64 << 10
_ALL_LINES_BYTES = 32 << 20


def last_line(record: Record) -> str:
    """Return the last line that is not blank, without the white space at its end; "" for none."""
    with open(record.open_log(record.logs[0]), "rb") as file:
        return _decode(read_last_line(file, _LAST_LINE_BYTES, skip_blank=True))


def all_lines(record: Record) -> tuple[list[str], int]:
    """Return every line, and the number of bytes left out at the front: at most 32 MiB are read."""
    with open(record.open_log(record.logs[0]), "rb") as file:
        data, left_out = read_end(file, _ALL_LINES_BYTES)
    text = _decode(data)
    return (text.split("\n") if text or left_out else []), left_out


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace").rstrip()
