"""The whole screen of a terminal, drawn line by line and restored in the end.

Plain escape sequences, as every terminal since the VT100 obeys them: unlike curses it needs no
description of the terminal, which a container often lacks for the terminal of its user.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

_ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l"
_LEAVE = b"\x1b[?7h\x1b[?25h\x1b[?1049l"
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_KEYS = {
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"k": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"j": "down",
    b"\x1b[H": "first",
    b"\x1b[1~": "first",
    b"\x1bOH": "first",
    b"g": "first",
    b"\x1b[F": "last",
    b"\x1b[4~": "last",
    b"\x1bOF": "last",
    b"G": "last",
    b"\x1b[5~": "page up",
    b"\x1b[6~": "page down",
    b"\r": "enter",
    b"\n": "enter",
    b"\x1b": "back",
    b"q": "quit",
    b"Q": "quit",
    b"\x04": "quit",
}
_LONGEST_KEY = max(map(len, _KEYS))


class Screen:
    """The screen between :func:`open_screen` and its end."""

    def __init__(self, stdin: int, stdout: int, wakeup: int) -> None:
        self._stdin, self._stdout, self._wakeup = stdin, stdout, wakeup
        self._drawn: list[str] = []

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines of the terminal."""
        try:
            found = os.get_terminal_size(self._stdout)
        except OSError:
            return 80, 24
        return found.columns or 80, found.lines or 24

    def draw(self, lines: Sequence[str]) -> None:
        """Show the lines; only those are sent that differ from the lines on the screen."""
        sent = []
        for at, line in enumerate(lines):
            if at >= len(self._drawn) or self._drawn[at] != line:
                sent.append(f"\x1b[{at + 1};1H\x1b[0m\x1b[2K{line}")
        if len(lines) < len(self._drawn):
            sent.append(f"\x1b[{len(lines) + 1};1H\x1b[J")
        self._drawn = list(lines)
        _write(self._stdout, "".join(sent).encode(sys.stdout.encoding, "replace"))

    def redraw(self) -> None:
        """Draw the next lines in any case, on an empty screen."""
        self._drawn = []
        _write(self._stdout, b"\x1b[2J")

    def wait(self, timeout_s: float, *others: int) -> list[str]:
        """Return the keys that were pressed; waits for one, a signal or another descriptor.

        At the end of the input the key is "quit".
        """
        readable, _, _ = select.select([self._stdin, self._wakeup, *others], [], [], timeout_s)
        for fd in readable:
            if fd == self._wakeup:
                os.read(fd, 4096)
        if self._stdin not in readable:
            return []
        data = os.read(self._stdin, 4096)
        return list(_split_keys(data)) if data else ["quit"]


@contextmanager
def open_screen(stdin: int, stdout: int) -> Iterator[Screen]:
    """Take the screen of the terminal, and restore it in the end, also after signals.

    TERM, HUP and QUIT end the program with the status of a shell; INT raises KeyboardInterrupt.
    Ctrl-Z is left to the terminal only while the screen is not taken.
    """
    before = termios.tcgetattr(stdin)
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    handlers: dict[signal.Signals, Any] = {
        number: signal.signal(number, _end) for number in _ENDING
    }
    handlers[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, _ignore)
    wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        tty.setcbreak(stdin, termios.TCSAFLUSH)
        _disable_suspension(stdin)
        _write(stdout, _ENTER)
        yield Screen(stdin, stdout, reading)
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        with suppress(OSError):  # the terminal is gone
            _write(stdout, b"\x1b[0m" + _LEAVE)
        with suppress(OSError, termios.error):
            termios.tcsetattr(stdin, termios.TCSAFLUSH, before)
        os.close(reading)
        os.close(writing)


def _disable_suspension(stdin: int) -> None:
    """Leave Ctrl-Z without an effect: a stopped program cannot restore the screen."""
    modes = termios.tcgetattr(stdin)
    modes[6][termios.VSUSP] = b"\0"
    termios.tcsetattr(stdin, termios.TCSANOW, modes)


def _split_keys(data: bytes) -> Iterator[str]:
    """Yield the names of the known keys in what a terminal sends."""
    at = 0
    while at < len(data):
        for length in range(min(_LONGEST_KEY, len(data) - at), 0, -1):
            name = _KEYS.get(data[at : at + length])
            if name is not None:
                yield name
                break
        else:
            length = 1
        at += length


def _write(fd: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            select.select([], [fd], [])


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Let the signal wake up the program, which then reads the new size."""
