"""The ends of a run's logs: as a file that rides along, and as lines for people."""

from __future__ import annotations

import os
import unicodedata
from typing import TYPE_CHECKING

from gpualert_common.artifacts import truncation
from gpualert_common.artifacts.safe_open import RefusedError, open_path, resolve
from gpualert_common.classify.lines import canonicalize

if TYPE_CHECKING:
    from gpualert_common.record import Record
    from gpualert_common.redact import Redactor

WINDOW_BYTES = 256 << 10
"""Read of a log for its last lines."""
MOST_LINE = 500
_MARK = "[...]"
_JOINERS = "\u200c\u200d"
"""Hold letters and emoji together."""


def log_tail(record: Record, redactor: Redactor, most_bytes: int) -> tuple[tuple[str, bytes], ...]:
    """For each log its name and its end, masked, at most ``most_bytes`` with the mark of the cut.

    The first line says how many bytes are left out.  A log that cannot be read says so in place of
    its end; an empty one is empty.
    """
    return tuple((name, _tail(record, name, redactor, most_bytes)) for name in record.logs)


def _tail(record: Record, name: str, redactor: Redactor, most: int) -> bytes:
    try:
        raw, size = _read_end(record, name, most + truncation.MARGIN_BYTES)
    except (OSError, RefusedError) as error:
        told = f"[{name} cannot be read: {_words(error)}]\n".encode()
        return told if len(told) <= most else b""
    content = redactor.data(raw)
    cut = len(raw) < size
    if not cut and len(content) <= most:
        return content
    room = most - truncation.MARK_BYTES
    if room <= 0:
        return b""
    tail = truncation.tail_of(content, room, cut=cut)
    return truncation.left_out(size - len(tail)) + tail


def log_lines(record: Record, redactor: Redactor, most_lines: int) -> tuple[str, ...]:
    """The last lines of the log as a terminal would show them, masked, oldest first.

    A progress bar is one line, in its last state.  There are no escape sequences and no control
    characters, no line is longer than MOST_LINE characters, and blank lines never come in a row.
    Of two logs both have their share, each under its name.
    """
    logs = record.logs
    if len(logs) == 1:
        return _last_lines(record, logs[0], redactor, most_lines)
    ends = {name: _last_lines(record, name, redactor, most_lines) for name in logs}
    told = {name: lines for name, lines in ends.items() if lines}
    if len(told) == 1:
        return next(iter(told.values()))
    lines: list[str] = []
    room = most_lines
    for position, (name, end) in enumerate(told.items()):
        later = list(told.values())[position + 1 :]
        share = max(room // (1 + len(later)), room - sum(1 + len(other) for other in later))
        if share > 1:
            kept = end[-(share - 1) :]
            lines += [f"==> {name} <==", *kept]
            room -= 1 + len(kept)
    return tuple(lines)


def _last_lines(record: Record, name: str, redactor: Redactor, most: int) -> tuple[str, ...]:
    if most <= 0:
        return ()
    try:
        raw, size = _read_end(record, name, WINDOW_BYTES)
    except (OSError, RefusedError) as error:
        return (f"[{name} cannot be read: {_words(error)}]",)
    begun = False
    if len(raw) < size:
        whole = truncation.tail_of(raw, len(raw))
        begun = not raw.endswith(b"\n" + whole)
        raw = whole
    text = "\n".join(_last_state(line) for line in raw.split(b"\n"))
    lines = [_clean(line) for line in redactor.text(text).split("\n")]
    if begun:
        lines[0] = f"{_MARK} {lines[0][-(MOST_LINE - len(_MARK) - 1) :]}"
    return tuple(_cut(line) for line in _squeezed(lines)[-most:])


def _last_state(line: bytes) -> str:
    r"""What is left on the screen of a line that was redrawn behind ``\r``."""
    states = canonicalize(line).split(b"\n")
    last = next((state for state in reversed(states) if state.strip()), b"")
    return last.decode("utf-8", "replace")


def _clean(line: str) -> str:
    line = line.expandtabs(4).rstrip()
    return line if line.isprintable() else "".join(map(_visible, line))


def _visible(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    return " " if unicodedata.category(character) == "Zs" else "\ufffd"


def _squeezed(lines: list[str]) -> list[str]:
    """The lines without blank ones at both ends and after another blank one."""
    kept = [line for line, before in zip(lines, ["", *lines], strict=False) if line or before]
    return kept[:-1] if kept and not kept[-1] else kept


def _cut(line: str) -> str:
    return line if len(line) <= MOST_LINE else f"{line[: MOST_LINE - len(_MARK) - 1]} {_MARK}"


def _read_end(record: Record, name: str, most: int) -> tuple[bytes, int]:
    """The last ``most`` bytes of a log, and its size.  Raises OSError, RefusedError."""
    fd = open_path(os.path.join(resolve(record.path), os.path.basename(name)))
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


def _words(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
