"""A bounded, rate-limited view of a log for an engine's own log.

An engine's log costs far more per line than a file.  The view shows as many lines as a person can
follow, names the number of omitted lines and the path of the whole log, and always ends with the
last lines.  Notable lines (evidence, exceptions, warnings) are shown among the omitted ones, too.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator

BURST_LINES = 200
RATE_LINES_S = 20.0
"""As fast as a person can read, for the first ``FAST_LINES``."""
FAST_LINES = 5000
SLOW_RATE_LINES_S = 0.5
"""From then on: some 43,000 lines a day."""
NOTABLE_BURST_LINES = 1000
NOTABLE_RATE_LINES_S = 1.0
"""Notable lines that are shown beyond that; a program may warn in every step."""
MOST_SEARCH_S = 1.0
"""Time for the search of notable lines in one call, once the rules are loaded."""
PROGRESS_S = 10.0
"""Interval at which a progress bar that redraws one line is shown."""
LAST_LINES = 50
"""Always shown at the end."""
MOST_LINE_BYTES = 4096
_READ_BYTES = 1 << 18
_MOST_READ_BYTES = 32 << 20
"""In one call; the older part of a log that grows faster is skipped unread."""

FindNotable = Callable[[bytes], list[int]]
"""Returns the start of each notable line among whole lines, ascending; called when lines are
omitted."""


def _find_none(_lines: bytes) -> list[int]:
    return []


class LogView:
    """The lines of one log while it grows."""

    def __init__(self, fd: int, path: str, find_notable: FindNotable = _find_none) -> None:
        self._fd = fd
        self._path = path
        self._find_notable = find_notable
        self._is_ready = False
        self._offset = 0
        self._partial = b""
        self._bar = b""
        self._shown = 0
        self._progress_due = time.monotonic() + PROGRESS_S
        self._allowance = float(BURST_LINES)
        self._notable_allowance = float(NOTABLE_BURST_LINES)
        self._at = time.monotonic()
        self._searched_s = 0.0
        self._left_out = 0
        self._left_out_bytes = 0
        self._held: deque[bytes] = deque(maxlen=LAST_LINES)

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._fd)

    def take_lines(self, *, last: bool = False) -> list[str]:
        """Return the lines to show now; with ``last`` also those that were held for the end."""
        now = time.monotonic()
        rate = RATE_LINES_S if self._shown < FAST_LINES else SLOW_RATE_LINES_S
        passed_s = now - self._at
        self._allowance = min(BURST_LINES, self._allowance + passed_s * rate)
        self._notable_allowance = min(
            NOTABLE_BURST_LINES, self._notable_allowance + passed_s * NOTABLE_RATE_LINES_S
        )
        self._at = now
        self._searched_s = 0.0
        shown: list[str] = []
        for lines in self._read():
            self._take(lines, shown)
        if now >= self._progress_due:
            self._progress_due = now + PROGRESS_S
            self._show_progress(shown)
        if last:
            if self._partial:
                self._take(self._partial + b"\n", shown)
                self._partial = b""
            self._show_held(shown)
        elif self._held and self._allowance >= LAST_LINES:
            self._show_held(shown)
            self._allowance -= LAST_LINES
        self._shown += len(shown)
        return shown

    def _show_progress(self, shown: list[str]) -> None:
        drawn, _is_bar, _drawing = self._partial.rpartition(b"\r")
        if drawn and drawn != self._bar:
            self._bar = drawn
            self._take(drawn + b"\n", shown)

    def _take(self, lines: bytes, shown: list[str]) -> None:
        """Show whole lines as far as the allowance goes; hold or omit the others."""
        free = int(self._allowance) if not self._held else 0
        at = _end_of(lines, free)
        first = lines[:at].split(b"\n")[:-1]
        self._allowance -= len(first)
        shown += map(_text, first)
        if at < len(lines):
            self._show_notable(lines[at:], shown)

    def _show_notable(self, lines: bytes, shown: list[str]) -> None:
        """Show the notable ones of *lines*, and hold the last of the others."""
        at = 0
        for start in self._search(lines):
            if self._notable_allowance < 1:
                break
            self._notable_allowance -= 1
            self._hold(lines[at:start])
            self._left_out += len(self._held)
            self._held.clear()
            self._show_mark(shown)
            at = lines.index(b"\n", start) + 1
            shown.append(_text(lines[start : at - 1]))
        self._hold(lines[at:])

    def _search(self, lines: bytes) -> list[int]:
        """Return the starts of notable *lines*; none once the search has used its time."""
        if self._notable_allowance < 1 or self._searched_s > MOST_SEARCH_S:
            return []
        if not self._is_ready:
            self._find_notable(b"\n")
            self._is_ready = True
        began = time.monotonic()
        found = self._find_notable(lines)
        self._searched_s += time.monotonic() - began
        return found

    def _hold(self, lines: bytes) -> None:
        """Hold the last of whole *lines*, and count those that drop out."""
        count = lines.count(b"\n")
        self._left_out += max(0, len(self._held) + count - LAST_LINES)
        self._held.extend(lines.rsplit(b"\n", LAST_LINES + 1)[-LAST_LINES - 1 : -1])

    def _show_mark(self, shown: list[str]) -> None:
        if self._left_out or self._left_out_bytes:
            what = f"{self._left_out:,} lines" if self._left_out else ""
            if self._left_out_bytes:
                what += (" and " if what else "") + f"{self._left_out_bytes:,} bytes"
            shown.append(f"[gpualert: {what} left out here; the whole log is {self._path}]")
        self._left_out = self._left_out_bytes = 0

    def _show_held(self, shown: list[str]) -> None:
        self._show_mark(shown)
        shown += map(_text, self._held)
        self._held.clear()

    def _read(self) -> Iterator[bytes]:
        size = os.fstat(self._fd).st_size
        if size < self._offset:
            self._offset, self._partial = 0, b""  # truncated: it continues at its start
        if size - self._offset > _MOST_READ_BYTES:
            passed = size - self._offset - _MOST_READ_BYTES
            self._left_out_bytes += passed + len(self._partial)
            self._left_out += len(self._held)
            self._held.clear()
            self._offset += passed
            self._partial = b""
            self._allowance = 0.0
        while self._offset < size and (data := os.pread(self._fd, _READ_BYTES, self._offset)):
            self._offset += len(data)
            lines, newline, rest = data.rpartition(b"\n")
            if newline:
                yield self._partial + lines + newline
                self._partial = b""
            partial = self._partial + rest
            self._partial = partial if len(partial) <= MOST_LINE_BYTES else _shorten(partial)


def _end_of(lines: bytes, count: int) -> int:
    """Return the offset where the first *count* of whole *lines* end."""
    at = 0
    for _ in range(count):
        end = lines.find(b"\n", at)
        if end < 0:
            break
        at = end + 1
    return at


def _shorten(partial: bytes) -> bytes:
    """Return the last two drawings of a line without an end, each as long as is ever shown."""
    body = partial.rstrip(b"\r")
    earlier, is_bar, last = body.rpartition(b"\r")
    before = earlier.rstrip(b"\r").rpartition(b"\r")[2]
    kept = before[: MOST_LINE_BYTES + 1] + b"\r" if is_bar else b""
    return kept + last[: MOST_LINE_BYTES + 1] + (b"\r" if body != partial else b"")


def _text(line: bytes) -> str:
    last = line.rstrip(b"\r").rpartition(b"\r")[2]
    cut = len(last) > MOST_LINE_BYTES
    text = last[:MOST_LINE_BYTES].decode("utf-8", "backslashreplace")
    return text + " [cut]" if cut else text
