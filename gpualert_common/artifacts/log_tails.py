"""Ends of a run's logs: as attachments, and as lines for display."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import TYPE_CHECKING, Protocol

from gpualert_common.artifacts import truncation
from gpualert_common.classify.lines import canonicalize

if TYPE_CHECKING:
    from gpualert_common.record import Record
    from gpualert_common.redact import Redactor

WINDOW_BYTES = 256 << 10
"""Bytes of a log that are read for its last lines."""
MOST_LINE = 500
_MARK = "[...]"
_CURSOR_UP = re.compile(rb"\x1b\[(\d{0,3})A")
_JOINERS = "\u200c\u200d"
"""Join letters and emoji; invisible, and kept."""


class LineMasks(Protocol):
    """The part of :class:`gpualert_common.redact.Redactor` that lines for display need."""

    def mask_text(self, text: str) -> str:
        """Return ``text`` with its secrets masked."""


def read_log_tails(
    record: Record, redactor: Redactor, most_bytes: int
) -> tuple[tuple[str, bytes], ...]:
    """Return the name and the masked end of each log, each end at most ``most_bytes`` long.

    The first line says how many bytes are left out.  For a log that cannot be read, the text is a
    line with the reason; for an empty log it is empty.
    """
    return tuple((name, _read_tail(record, name, redactor, most_bytes)) for name in record.logs)


def _read_tail(record: Record, name: str, redactor: Redactor, most: int) -> bytes:
    try:
        raw, size = _read_end(record, name, most + truncation.MARGIN_BYTES)
    except OSError as error:
        notice = f"[{name} cannot be read: {error.strerror}]\n".encode()
        return notice if len(notice) <= most else b""
    content = redactor.mask_bytes(raw)
    cut = len(raw) < size
    if not cut and len(content) <= most:
        return content
    room = most - truncation.MARK_BYTES
    if room <= 0:
        return b""
    tail = truncation.cut_tail(content, room, is_piece=cut)
    return truncation.mark_cut(size - len(tail)) + tail


def read_last_lines(record: Record, redactor: LineMasks, most_lines: int) -> tuple[str, ...]:
    """Return the last lines of the log as a terminal shows them, masked, oldest first.

    A progress bar is one line in its last state.  The lines contain no escape sequences and no
    control characters, are at most MOST_LINE characters long, and no two blank lines are adjacent.
    Two logs share the lines, each under a heading with its name.
    """
    logs = record.logs
    if len(logs) == 1:
        return _read_log_lines(record, logs[0], redactor, most_lines)
    ends = {name: _read_log_lines(record, name, redactor, most_lines) for name in logs}
    filled = {name: lines for name, lines in ends.items() if lines}
    if len(filled) == 1:
        return next(iter(filled.values()))
    lines: list[str] = []
    room = most_lines
    for position, (name, end) in enumerate(filled.items()):
        later = list(filled.values())[position + 1 :]
        share = max(room // (1 + len(later)), room - sum(1 + len(other) for other in later))
        if share > 1:
            kept = end[-(share - 1) :]
            lines += [f"==> {name} <==", *kept]
            room -= 1 + len(kept)
    return tuple(lines)


def _read_log_lines(record: Record, name: str, redactor: LineMasks, most: int) -> tuple[str, ...]:
    if most <= 0:
        return ()
    try:
        raw, size = _read_end(record, name, WINDOW_BYTES)
    except OSError as error:
        return (f"[{name} cannot be read: {error.strerror}]",)
    text = "\n".join(_render(raw))
    lines = [_clean(line) for line in redactor.mask_text(text).split("\n")]
    if len(raw) < size and b"\r" not in raw.partition(b"\n")[0].rstrip(b"\r"):
        end = truncation.cut_tail(lines[0].encode(), MOST_LINE - len(_MARK) - 1)
        lines[0] = f"{_MARK} {end.decode()}" if end else ""
    return tuple(_cut(line) for line in _squeeze(lines)[-most:])


def _render(raw: bytes) -> list[str]:
    """Return the lines that stay on the screen; nested bars move the cursor up to redraw lines."""
    rows: list[str] = []
    row = 0
    for line in raw.split(b"\n"):
        first, *others = _CURSOR_UP.split(line)
        rows += [""] * (row + 1 - len(rows))
        rows[row] = _render_line(first) or rows[row]
        for count, redrawn in zip(others[::2], others[1::2], strict=True):
            row = max(0, row - int(count or 1))
            rows[row] = _render_line(redrawn) or rows[row]
        row += 1
    return rows


def _render_line(line: bytes) -> str:
    r"""Return the text that stays on the screen of a line that ``\r`` redraws."""
    states = canonicalize(line).split(b"\n")
    last = next((state for state in reversed(states) if state.strip()), b"")
    return last.decode("utf-8", "replace")


def _clean(line: str) -> str:
    line = line.expandtabs(4).rstrip()
    return line if line.isprintable() else "".join(map(_replace_invisible, line))


def _replace_invisible(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    return " " if unicodedata.category(character) == "Zs" else "\ufffd"


def _squeeze(lines: list[str]) -> list[str]:
    """Return the lines without blank lines at both ends and after another blank line."""
    kept = [line for line, before in zip(lines, ["", *lines], strict=False) if line or before]
    return kept[:-1] if kept and not kept[-1] else kept


def _cut(line: str) -> str:
    return line if len(line) <= MOST_LINE else f"{line[: MOST_LINE - len(_MARK) - 1]} {_MARK}"


def _read_end(record: Record, name: str, most: int) -> tuple[bytes, int]:
    """Return the last ``most`` bytes of a log, and its size.  Raises OSError."""
    fd = record.open_log(name)
    try:
        size = os.fstat(fd).st_size
        begin = max(0, size - max(most, 0))
        chunks = []
        while begin < size and (chunk := os.pread(fd, size - begin, begin)):
            chunks.append(chunk)
            begin += len(chunk)
        return b"".join(chunks), size
    finally:
        os.close(fd)
