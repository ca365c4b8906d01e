"""Lines of a training's log, read with bounded memory."""

from __future__ import annotations

from gpualert_common.record.log_end import read_end, read_last_line

_LAST_LINE_BYTES = 64 << 10
_ALL_LINES_BYTES = 32 << 20
_TAIL_LINES = 20
_TAIL_BYTES = 8 << 10


def last_line(path: str) -> str:
    """Return the last line that is not blank, without the white space at its end; "" for none."""
    return _decode(read_last_line(path, _LAST_LINE_BYTES, skip_blank=True))


def all_lines(path: str) -> tuple[list[str], int]:
    """Return every line, and the number of bytes left out at the front: at most 32 MiB are read."""
    data, left_out = read_end(path, _ALL_LINES_BYTES)
    text = _decode(data)
    return (text.split("\n") if text or left_out else []), left_out


def tail(path: str) -> list[str]:
    """Return the last lines for an error message: at most 20 lines and 8 KiB."""
    text = _decode(read_end(path, _TAIL_BYTES)[0])
    return text.split("\n")[-_TAIL_LINES:] if text else []


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace").rstrip()
