"""A bounded, rate-limited view of a log for people: never the log itself, which is on the disk.

An engine's log costs far more per line than a file: the view shows what a person can follow, says
how much it left out and where all of it is, and always ends with the last lines.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator

BURST_LINES = 200
RATE_LINES_S = 20.0
"""What a person can just about read, for the first ``FAST_LINES``."""
FAST_LINES = 5000
SLOW_RATE_LINES_S = 0.5
"""From then on: some 43,000 lines a day, however long the run."""
PROGRESS_S = 10.0
"""How often a progress bar that redraws one line for ever is shown."""
LAST_LINES = 50
"""Always shown at the end, whatever was left out before."""
MOST_LINE_BYTES = 4096
_READ_BYTES = 1 << 18
_MOST_READ_BYTES = 8 << 20
"""At one look; of a log that grows faster the older part is passed over unread."""


class LogView:
    """Lines of one log as it grows."""

    def __init__(self, fd: int, path: str) -> None:
        self._fd = fd
        self._path = path
        self._offset = 0
        self._partial = b""
        self._bar = b""
        self._shown = 0
        self._progress_due = time.monotonic() + PROGRESS_S
        self._allowance = float(BURST_LINES)
        self._at = time.monotonic()
        self._left_out = 0
        self._left_out_bytes = 0
        self._held: deque[str] = deque(maxlen=LAST_LINES)

    def close(self) -> None:
        """Give back the descriptor."""
        os.close(self._fd)

    def look(self, *, last: bool = False) -> list[str]:
        """The lines to show now; with ``last`` also those that were held back for the end."""
        now = time.monotonic()
        rate = RATE_LINES_S if self._shown < FAST_LINES else SLOW_RATE_LINES_S
        self._allowance = min(BURST_LINES, self._allowance + (now - self._at) * rate)
        self._at = now
        shown: list[str] = []
        for line in self._read():
            self._take(line, shown)
        if now >= self._progress_due:
            self._progress_due = now + PROGRESS_S
            self._show_progress(shown)
        if last:
            if self._partial:
                self._take(_text(self._partial), shown)
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
            self._take(_text(drawn), shown)

    def _take(self, line: str, shown: list[str]) -> None:
        if self._allowance >= 1 and not self._held:
            self._allowance -= 1
            shown.append(line)
            return
        if len(self._held) == LAST_LINES:
            self._left_out += 1
        self._held.append(line)

    def _show_held(self, shown: list[str]) -> None:
        if self._left_out or self._left_out_bytes:
            what = f"{self._left_out:,} lines" if self._left_out else ""
            if self._left_out_bytes:
                what += (" and " if what else "") + f"{self._left_out_bytes:,} bytes"
            shown.append(f"[gpualert: {what} left out here; the whole log is {self._path}]")
        shown += self._held
        self._held.clear()
        self._left_out = self._left_out_bytes = 0

    def _read(self) -> Iterator[str]:
        size = os.fstat(self._fd).st_size
        if size < self._offset:
            self._offset, self._partial = 0, b""  # truncated: it goes on at its start
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
            yield from self._split(data)

    def _split(self, data: bytes) -> Iterator[str]:
        """Whole lines; of a progress bar that redraws itself only what a look finds last."""
        pieces = data.split(b"\n")
        pieces[0] = self._partial + pieces[0]
        *whole, partial = pieces
        self._partial = partial if len(partial) <= MOST_LINE_BYTES else _shortened(partial)
        yield from map(_text, whole)


def _shortened(partial: bytes) -> bytes:
    """Of a line without an end, the last two drawings, each as long as is ever shown."""
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
